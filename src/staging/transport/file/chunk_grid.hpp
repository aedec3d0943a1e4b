#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace uzushio::staging::file {

/// Position of a byte of an array in the chunks of its Zarr array.
struct ChunkPlace {
    std::vector<std::int64_t> chunk; ///< its index along each axis
    std::int64_t offset = 0;         ///< bytes from the chunk's beginning
    std::int64_t bytes = 0;          ///< from there to the end of the chunk's values
};

/// Division of an array into chunks along one axis, the slowest whose slabs are small enough, so
/// that every chunk is a contiguous part of the array. Slower axes have chunk length 1, faster ones
/// are whole. All chunks have the same size; the last ones along the axis are padded with zeros.
class ChunkGrid {
  public:
    /// Cut an array into chunks of at most `max_bytes` bytes with little padding.
    [[nodiscard]] static ChunkGrid cut(std::vector<std::int64_t> shape, std::int64_t scalar_bytes,
                                       std::int64_t max_bytes);
    /// Grid of a stored array. Throws ModelError if the chunks are not of this form.
    ChunkGrid(std::vector<std::int64_t> shape, std::vector<std::int64_t> chunk,
              std::int64_t scalar_bytes);

    [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }
    [[nodiscard]] const std::vector<std::int64_t>& chunk() const { return chunk_; }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }             ///< of all values
    [[nodiscard]] std::int64_t chunk_bytes() const { return chunk_bytes_; } ///< with padding
    /// Return the position of the array's byte `offset`, 0 <= offset < bytes().
    [[nodiscard]] ChunkPlace place(std::int64_t offset) const;

    bool operator==(const ChunkGrid&) const = default;

  private:
    std::vector<std::int64_t> shape_, chunk_;
    std::size_t axis_ = 0;         ///< divided axis
    std::int64_t slab_bytes_ = 0;  ///< of one index along it
    std::int64_t chunk_bytes_ = 0; ///< with padding
    std::int64_t bytes_ = 0;
};

/// Return the file name of a chunk in its array's folder: "c.0.0.0".
[[nodiscard]] std::string chunk_name(const std::vector<std::int64_t>& chunk);

} // namespace uzushio::staging::file
