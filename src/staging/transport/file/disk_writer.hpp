#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/transport/file/array_form.hpp"
#include "staging/transport/file/chunk_grid.hpp"
#include "staging/transport/file/file_handle.hpp"

namespace uzushio::staging::file {

/// Writer of a rank's files that waits until they are on the disk. Its buffer of half a MiB is used
/// for all steps. Members throw StagingError.
class DiskWriter {
  public:
    /// Without `wait`, `sync` does not wait for the disk.
    explicit DiskWriter(bool wait = true);

    /// Write the chunks of an array into its existing empty folder, each followed by its CRC32C.
    /// Values are read once, and no more than the buffer is held. Return the CRC32C of all values.
    std::uint32_t write_array(const std::filesystem::path& folder, const ConstArrayView& view,
                              const ArrayForm& form, const ChunkGrid& grid);
    void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
    /// Make a folder; return whether it is new.
    bool make_folder(const std::filesystem::path& folder);
    /// Wait until everything written since the last call is on the disk.
    void sync();
    /// Forget everything written since the last `sync`.
    void forget();

  private:
    void track(FileHandle file);

    bool wait_;
    std::vector<std::byte> buffer_;
    std::vector<FileHandle> open_;               ///< files to sync
    std::vector<std::filesystem::path> folders_; ///< changed folders
    std::filesystem::path last_path_;            ///< last written file
    bool sync_all_ = false;                      ///< sync the file system instead of many files
};

} // namespace uzushio::staging::file
