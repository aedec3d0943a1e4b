#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace uzushio::staging::file {

/// Where a stretch of an array is in the chunks of its Zarr array.
struct ChunkPlace {
    std::vector<std::int64_t> chunk; ///< its index along each axis
    std::int64_t offset = 0;         ///< bytes from the chunk's beginning
    std::int64_t bytes = 0;          ///< from there to the end of the chunk's values
};

/// How an array is cut into chunks: along one axis, the slowest whose slabs are small enough, so
/// that every chunk is a contiguous stretch of the array. Axes before it have chunks of 1, those
/// behind it are whole. All chunks have the same size; the last ones along the axis are filled
/// up with zeros.
class ChunkGrid {
  public:
    /// So that no chunk exceeds `most` bytes, and little is filled up.
    [[nodiscard]] static ChunkGrid cut(std::vector<std::int64_t> shape, std::int64_t scalar_bytes,
                                       std::int64_t most);
    /// Of an array that is stored. Throws ModelError if the chunks are not of the kind above.
    ChunkGrid(std::vector<std::int64_t> shape, std::vector<std::int64_t> chunk,
              std::int64_t scalar_bytes);

    [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }
    [[nodiscard]] const std::vector<std::int64_t>& chunk() const { return chunk_; }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }             ///< of all values
    [[nodiscard]] std::int64_t chunk_bytes() const { return chunk_bytes_; } ///< filled up
    /// Where the array's byte `offset` is, 0 <= offset < bytes().
    [[nodiscard]] ChunkPlace place(std::int64_t offset) const;

    bool operator==(const ChunkGrid&) const = default;

  private:
    std::vector<std::int64_t> shape_, chunk_;
    std::size_t axis_ = 0;         ///< that is cut
    std::int64_t slab_bytes_ = 0;  ///< of one index along it
    std::int64_t chunk_bytes_ = 0; ///< filled up
    std::int64_t bytes_ = 0;
};

/// The file of a chunk in its array's folder: "c.0.0.0".
[[nodiscard]] std::string chunk_name(const std::vector<std::int64_t>& chunk);

} // namespace uzushio::staging::file
