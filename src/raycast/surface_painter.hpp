#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "raycast/camera.hpp"
#include "raycast/contour.hpp"

namespace uzushio::raycast {

/// Pixel with its distance along the view, as compositing takes it.
struct DepthPixel {
    std::array<std::uint8_t, 4> rgba;
    float depth;
};

/// Colours of a surface.
struct Paint {
    std::array<std::uint8_t, 4> color{}; ///< without a field
    int field = -1;                      ///< number of the surface's values that have colours
    /// Colours below `low`, from `low` to `high`, above `high`, and of values that are not finite.
    std::vector<std::array<std::uint8_t, 4>> table;
    double low = 0, high = 1;
    bool logarithmic = false;
    bool lit = false; ///< from the camera, both sides alike
};

/// Draw opaque surfaces: the nearest one is visible. Pixels have the surface at their centre.
///
/// Threads draw bands of rows. Values, normals and depths are interpolated in the triangle, and
/// colours are those of the interpolated value.
void paint(std::span<const std::pair<const TriangleSurface*, Paint>> surfaces, const Camera& camera,
           int width, int height, DepthPixel* out, int threads);

} // namespace uzushio::raycast
