#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "raycast/plan.hpp"

namespace uzushio::raycast {

enum class PixelFormat { rgba8, rgba_float };

/// Memory of an image, row by row; all of it is written.
struct Target {
    PixelFormat format = PixelFormat::rgba8;
    std::byte* pixels = nullptr;
    float* depth = nullptr; ///< may be none
};

struct Outcome {
    Screen screen;              ///< outside of which nothing was drawn
    std::int64_t bad_count = 0; ///< not finite: pixels of slices, points of other layers' fields
    std::vector<std::int64_t> hits; ///< for each layer, pixels in which it was seen
    std::vector<std::optional<std::pair<double, double>>> ranges; ///< of the layers' fields
};

/// Draw blocks, front to back, with this number of threads.
Outcome cast(const Scene& scene, const Camera& camera, int width, int height,
             std::span<const Source> blocks, const Target& target, int threads);

} // namespace uzushio::raycast
