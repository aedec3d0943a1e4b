#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "staging/transport/file/array_form.hpp"
#include "staging/transport/file/chunk_grid.hpp"
#include "staging/transport/file/file_handle.hpp"
#include "staging/transport/step_source.hpp"

namespace uzushio::staging::file {

/// Reader of parts of the arrays of one step, directly into the destination if both sides have long
/// runs, else through a small buffer. Throws StagingError with the file's name if one is missing or
/// damaged.
class ArrayReader {
  public:
    /// `folder` is the step's. With `verify`, each chunk's checksum is verified at its first use.
    /// `buffer` is the caller's, at least 64 KiB.
    ArrayReader(std::filesystem::path folder, bool verify, std::span<std::byte> buffer)
        : folder_(std::move(folder)), verify_(verify), buffer_(buffer) {}

    void read(const StepInfo& step, const Fetch& fetch);

  private:
    const ChunkGrid& grid_of(const StepInfo& step, const PieceRequest& request,
                             const ArrayForm& form, const std::filesystem::path& folder);
    /// Verify a chunk; `sum` is the checksum of its first `summed` bytes.
    void check_sum(const FileHandle& file, const ChunkGrid& grid, std::uint32_t sum,
                   std::int64_t summed);

    std::filesystem::path folder_;
    bool verify_;
    std::span<std::byte> buffer_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, ChunkGrid> grids_; ///< by block and array
    std::set<std::filesystem::path> verified_;                           ///< verified chunks
};

/// Read a step's table: a verified chunk of one dimension.
[[nodiscard]] std::vector<std::byte> read_table(const std::filesystem::path& folder);

} // namespace uzushio::staging::file
