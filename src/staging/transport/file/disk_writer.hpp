#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/transport/file/array_form.hpp"
#include "staging/transport/file/chunk_grid.hpp"
#include "staging/transport/file/file_handle.hpp"

namespace uzushio::staging::file {

/// Writes the files of a rank, and sees to it that they are on the disk. Its buffer, half a MiB,
/// serves for all steps. Members throw StagingError.
class DiskWriter {
  public:
    /// Without `wait`, `sync` leaves it to the system when things get to the disk.
    explicit DiskWriter(bool wait = true);

    /// Write the chunks of an array into its folder, which is there and empty, each with its
    /// CRC32C behind it. Values are read once, and nothing as large as a chunk is held. Returns
    /// the CRC32C of all values.
    std::uint32_t write_array(const std::filesystem::path& folder, const ConstArrayView& view,
                              const ArrayForm& form, const ChunkGrid& grid);
    void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
    /// Make a folder; returns whether it was not there yet.
    bool make_folder(const std::filesystem::path& folder);
    /// Wait until all that was written since the last call is on the disk.
    void sync();
    /// Forget what was written since: it is given up.
    void forget();

  private:
    void written(FileHandle file);

    bool wait_;
    std::vector<std::byte> buffer_;
    std::vector<FileHandle> open_;               ///< files that are not on the disk yet
    std::vector<std::filesystem::path> folders_; ///< that changed
    std::filesystem::path last_;                 ///< that was written
    bool many_ = false;                          ///< more files than are worth being waited for
};

} // namespace uzushio::staging::file
