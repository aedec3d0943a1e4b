#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "domain/index.hpp"

namespace uzushio::geometry {

/// Corners of a triangle.
using Triangle = std::array<domain::Vector, 3>;

/// Return whether two corners are equal.
[[nodiscard]] inline bool has_equal_corners(const Triangle& triangle) {
    return triangle[0] == triangle[1] || triangle[1] == triangle[2] || triangle[2] == triangle[0];
}

[[nodiscard]] inline domain::Vector minus(const domain::Vector& a, const domain::Vector& b) {
    return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

/// Position in a plane.
using Position = std::array<double, 2>;

/// Return whether the half-line from `p` along the first axis crosses the side from `u` to `v`. The
/// result is the same for the side from `v` to `u`.
[[nodiscard]] inline bool is_crossed(Position u, Position v, const Position& p) {
    if ((u[1] >= p[1]) == (v[1] >= p[1]))
        return false;
    if (u[1] > v[1])
        std::swap(u, v);
    if (p[0] <= std::min(u[0], v[0]))
        return true;
    if (p[0] > std::max(u[0], v[0]))
        return false;
    return (v[0] - u[0]) * (p[1] - u[1]) >= (p[0] - u[0]) * (v[1] - u[1]);
}

/// Return how often the projection of a triangle along `axis` turns around that of a point: 1 or -1
/// if the line through the point meets it, otherwise 0. Triangles that share a side agree on it.
[[nodiscard]] inline int turns_around(const Triangle& triangle, std::size_t axis,
                                      const domain::Vector& point) {
    const std::size_t b = (axis + 1) % 3, c = (axis + 2) % 3;
    int turns = 0;
    for (std::size_t side = 0; side < 3; ++side) {
        const domain::Vector& u = triangle[side];
        const domain::Vector& v = triangle[(side + 1) % 3];
        if (is_crossed({u[b], u[c]}, {v[b], v[c]}, {point[b], point[c]}))
            turns += v[c] > u[c] ? 1 : -1;
    }
    return turns;
}

/// Return the position where the line along `axis` through `p` meets a triangle.
[[nodiscard]] inline double height(const Triangle& triangle, std::size_t axis,
                                   const domain::Vector& p) {
    const std::size_t b = (axis + 1) % 3, c = (axis + 2) % 3;
    const domain::Vector& origin = triangle[0];
    const domain::Vector first = minus(triangle[1], origin), second = minus(triangle[2], origin);
    const auto [lowest, highest] =
        std::minmax({triangle[0][axis], triangle[1][axis], triangle[2][axis]});
    const double area = first[b] * second[c] - first[c] * second[b];
    const double db = p[b] - origin[b], dc = p[c] - origin[c];
    const double s = (db * second[c] - dc * second[b]) / area;
    const double t = (first[b] * dc - first[c] * db) / area;
    const double position = origin[axis] + s * first[axis] + t * second[axis];
    if (!std::isfinite(position)) // parallel to the line
        return 0.5 * (lowest + highest);
    return std::clamp(position, lowest, highest);
}

} // namespace uzushio::geometry
