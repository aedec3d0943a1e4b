#pragma once

#include <array>

#include "raycast/camera.hpp"
#include "raycast/scene.hpp"
#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// Rays through a square of 4 × 4 pixels; lane 4 r + c is row r, column c.
///
/// Distances along a ray count from where it enters the domain. Everything is found from the whole
/// domain alone.
struct RayPacket {
    static constexpr int side = 4;

    Mask inside;                     ///< lanes of the image
    Mask hits;                       ///< lanes that meet the domain
    std::array<Floats, 3> start;     ///< where the ray enters, in lookup space
    std::array<Floats, 3> along;     ///< change of that per distance
    std::array<Floats, 3> inverse;   ///< of the above
    std::array<Floats, 3> direction; ///< unit vector
    Floats enter;                    ///< distance from the camera at which the ray enters
    Floats length;                   ///< within the domain
    Floats cosine;                   ///< of the angle with the view direction
    alignas(64) std::array<std::array<double, lanes>, 3> origins, directions;
    alignas(64) std::array<double, lanes> enters;

    /// Whose upper left pixel is (column, row).
    RayPacket(const Scene& scene, const Camera& camera, int width, int height, int column, int row);

    [[nodiscard]] UZUSHIO_INLINE Floats position(std::size_t axis, Floats distance) const {
        return fma(distance, along[axis], start[axis]);
    }

    /// Distance to a plane, infinity where it is not met in the domain.
    [[nodiscard]] Floats plane(const Vector3& origin, const Vector3& normal) const;
};

} // namespace uzushio::raycast
