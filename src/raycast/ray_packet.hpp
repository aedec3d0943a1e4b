#pragma once

#include <array>

#include "raycast/camera.hpp"
#include "raycast/scene.hpp"
#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// Rays through a square of 4 × 4 pixels; lane 4 r + c is row r, column c.
///
/// Distances along a ray begin where it enters the domain. Values depend on the whole domain only.
struct RayPacket {
    static constexpr int side = 4;

    Mask inside;                     ///< lanes inside the image
    Mask hits;                       ///< lanes that meet the domain
    std::array<Floats, 3> start;     ///< entry point, in lookup space
    std::array<Floats, 3> along;     ///< change of position per distance
    std::array<Floats, 3> inverse;   ///< of `along`
    std::array<Floats, 3> direction; ///< unit vector
    Floats enter;                    ///< distance from the camera to the entry point
    Floats length;                   ///< within the domain
    Floats cosine;                   ///< of the angle to the view direction
    alignas(64) std::array<std::array<double, lanes>, 3> origins, directions;
    alignas(64) std::array<double, lanes> enters;

    /// Set up the rays of the packet with upper left pixel (column, row).
    RayPacket(const Scene& scene, const Camera& camera, int width, int height, int column, int row);

    [[nodiscard]] UZUSHIO_INLINE Floats position(std::size_t axis, Floats distance) const {
        return fma(distance, along[axis], start[axis]);
    }

    /// Return the distance to a plane, infinity where the ray does not meet it in the domain.
    [[nodiscard]] Floats plane(const Vector3& origin, const Vector3& normal) const;
};

} // namespace uzushio::raycast
