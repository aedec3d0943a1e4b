#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "raycast/cast_plan.hpp"

namespace uzushio::raycast {

enum class PixelFormat { rgba8, rgba_float };

/// Memory of an image, row by row; all of it is written.
struct ImageBuffer {
    PixelFormat format = PixelFormat::rgba8;
    std::byte* pixels = nullptr;
    float* depth = nullptr; ///< optional
};

struct CastStatistics {
    PixelRect pixel_bounds;           ///< nothing was drawn outside
    std::int64_t nonfinite_count = 0; ///< pixels of slices, points of other layers' fields
    std::vector<std::int64_t> hits;   ///< by layer: pixels in which it is visible
    std::vector<std::optional<std::pair<double, double>>> ranges; ///< by layer: of its field
};

/// Draw blocks, front to back, with a number of threads.
///
/// The calling thread calls `interrupted` several times a second, if it is given; once that returns
/// true, the remaining tiles of the image are left out.
CastStatistics cast(const Scene& scene, const Camera& camera, int width, int height,
                    std::span<const BlockSource> sources, const ImageBuffer& buffer, int threads,
                    const std::function<bool()>& interrupted = {});

} // namespace uzushio::raycast
