#include "staging/transport/file/chunk_grid.hpp"

#include <algorithm>
#include <utility>

#include "staging/datamodel/model_error.hpp"

namespace uzushio::staging::file {
namespace {

std::int64_t chunks_along(std::int64_t count, std::int64_t chunk) {
    return (count + chunk - 1) / chunk;
}

/// Return the chunk length between half of `max_bytes` and `max_bytes` that pads the last chunk
/// least.
std::int64_t balanced_chunk(std::int64_t count, std::int64_t max_bytes) {
    std::int64_t best = max_bytes;
    std::int64_t filled = chunks_along(count, max_bytes) * max_bytes - count;
    for (std::int64_t chunk = max_bytes; chunk > 0 && chunk >= max_bytes / 2 && filled > 0;
         --chunk) {
        const std::int64_t now = chunks_along(count, chunk) * chunk - count;
        if (now < filled)
            filled = now, best = chunk;
    }
    return best;
}

} // namespace

ChunkGrid ChunkGrid::cut(std::vector<std::int64_t> shape, std::int64_t scalar_bytes,
                         std::int64_t max_bytes) {
    // Zarr has no empty chunks: an empty array has chunk length 1, and no chunks.
    std::vector<std::int64_t> chunk(shape.size());
    std::transform(shape.begin(), shape.end(), chunk.begin(),
                   [](std::int64_t count) { return std::max<std::int64_t>(1, count); });
    std::int64_t bytes = scalar_bytes;
    for (const std::int64_t count : chunk)
        bytes *= count;
    for (std::size_t axis = 0; axis < chunk.size() && bytes > max_bytes; ++axis) {
        const std::int64_t slab = bytes / chunk[axis];
        chunk[axis] = slab >= max_bytes ? 1 : balanced_chunk(chunk[axis], max_bytes / slab);
        bytes = slab * chunk[axis];
    }
    return {std::move(shape), std::move(chunk), scalar_bytes};
}

ChunkGrid::ChunkGrid(std::vector<std::int64_t> shape, std::vector<std::int64_t> chunk,
                     std::int64_t scalar_bytes)
    : shape_(std::move(shape)), chunk_(std::move(chunk)), slab_bytes_(scalar_bytes),
      bytes_(scalar_bytes) {
    const auto count = [&](std::size_t axis) { return std::max<std::int64_t>(1, shape_[axis]); };
    bool fits = shape_.size() == chunk_.size() && !shape_.empty();
    for (std::size_t axis = 0; fits && axis < shape_.size(); ++axis)
        fits = shape_[axis] >= 0 && chunk_[axis] >= 1 && chunk_[axis] <= count(axis);
    if (fits) {
        axis_ = shape_.size() - 1;
        while (axis_ > 0 && chunk_[axis_] == count(axis_))
            --axis_;
        for (std::size_t axis = 0; axis < axis_; ++axis)
            fits = fits && (chunk_[axis] == 1);
    }
    if (!fits)
        throw ModelError("The array is cut into chunks along several axes: only arrays that this "
                         "program stored can be read.");
    for (std::size_t axis = axis_ + 1; axis < shape_.size(); ++axis)
        slab_bytes_ *= count(axis);
    for (const std::int64_t n : shape_)
        bytes_ *= n;
    chunk_bytes_ = slab_bytes_ * chunk_[axis_];
}

ChunkPlace ChunkGrid::place(std::int64_t offset) const {
    ChunkPlace place{std::vector<std::int64_t>(shape_.size()), 0, 0};
    const std::int64_t whole = slab_bytes_ * shape_[axis_];
    std::int64_t outer = offset / whole;
    for (std::size_t axis = axis_; axis-- > 0;) {
        place.chunk[axis] = outer % shape_[axis];
        outer /= shape_[axis];
    }
    const std::int64_t along = offset % whole;
    place.chunk[axis_] = along / chunk_bytes_;
    place.offset = along % chunk_bytes_;
    const std::int64_t values = std::min(chunk_bytes_, whole - place.chunk[axis_] * chunk_bytes_);
    place.bytes = values - place.offset;
    return place;
}

std::string chunk_name(const std::vector<std::int64_t>& chunk) {
    std::string name = "c";
    for (const std::int64_t index : chunk)
        name.append(".").append(std::to_string(index));
    return name;
}

} // namespace uzushio::staging::file
