#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "staging/transport/file/array_form.hpp"
#include "staging/transport/file/chunk_grid.hpp"
#include "staging/transport/file/file_handle.hpp"
#include "staging/transport/source.hpp"

namespace uzushio::staging::file {

/// Reads parts of the arrays of one step from the disk, straight to where they are wanted if both
/// sides have long runs, through a small buffer otherwise. Throws StagingError that names the file
/// if one is missing or damaged.
class ArrayReader {
  public:
    /// `folder` is the step's. With `verify`, the checksum of every chunk that is touched is
    /// checked, once. `buffer` is the caller's, at least 64 KiB.
    ArrayReader(std::filesystem::path folder, bool verify, std::span<std::byte> buffer)
        : folder_(std::move(folder)), verify_(verify), buffer_(buffer) {}

    void read(const StepInfo& step, const Fetch& fetch);

  private:
    const ChunkGrid& grid_of(const StepInfo& step, const PieceRequest& request,
                             const ArrayForm& form, const std::filesystem::path& folder);
    /// Check a chunk, of whose first `summed` bytes the sum is known.
    void check_sum(const FileHandle& file, const ChunkGrid& grid, std::uint32_t sum,
                   std::int64_t summed);

    std::filesystem::path folder_;
    bool verify_;
    std::span<std::byte> buffer_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, ChunkGrid> grids_; ///< by block and array
    std::set<std::filesystem::path> sound_;                              ///< chunks, if verified
};

/// The bytes of a chunk of one dimension, whole and with the right checksum: a step's table.
[[nodiscard]] std::vector<std::byte> read_table(const std::filesystem::path& folder);

} // namespace uzushio::staging::file
