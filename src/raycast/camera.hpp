#pragma once

#include "raycast/vector3.hpp"

namespace uzushio::raycast {

/// Camera of a picture. Rays go through the centres of pixels; row 0 is the top.
struct Camera {
    Vector3 position{};
    Vector3 right{}; ///< unit vectors of the picture
    Vector3 up{};
    Vector3 forward{};
    double half_height = 1; ///< of the picture; for a perspective camera at distance 1
    bool perspective = true;

    [[nodiscard]] double pixel(int height) const { return 2 * half_height / height; }

    /// Return column, row and distance along the view direction of a point. For a perspective
    /// camera the point must lie in front of it.
    [[nodiscard]] Vector3 project(const Vector3& point, int width, int height) const {
        const Vector3 offset = point - position;
        const double depth = dot(offset, forward);
        const double scale = 1 / (pixel(height) * (perspective ? depth : 1));
        return {width / 2.0 + scale * dot(offset, right), height / 2.0 - scale * dot(offset, up),
                depth};
    }
};

} // namespace uzushio::raycast
