#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "geometry/triangles.hpp"

namespace uzushio::geometry {

/// Return the sides of a box, two triangles each.
inline std::vector<Triangle> box_triangles(const domain::Vector& lower,
                                           const domain::Vector& upper) {
    std::vector<Triangle> found;
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (const double side : {lower[axis], upper[axis]}) {
            const std::size_t b = (axis + 1) % 3, c = (axis + 2) % 3;
            std::array<domain::Vector, 4> corners;
            for (std::size_t n = 0; n < 4; ++n) {
                corners[n][axis] = side;
                corners[n][b] = n == 1 || n == 2 ? upper[b] : lower[b];
                corners[n][c] = n >= 2 ? upper[c] : lower[c];
            }
            found.push_back({corners[0], corners[1], corners[2]});
            found.push_back({corners[0], corners[2], corners[3]});
        }
    return found;
}

/// Return an octahedron, each of whose triangles is cut into four `level` times; its corners are
/// then moved to a sphere if `is_round`.
inline std::vector<Triangle> octahedron(const domain::Vector& centre, double radius, int level,
                                        bool is_round) {
    std::vector<Triangle> all;
    for (const double x : {-1.0, 1.0})
        for (const double y : {-1.0, 1.0})
            for (const double z : {-1.0, 1.0})
                all.push_back({{{x, 0, 0}, {0, y, 0}, {0, 0, z}}});
    for (int n = 0; n < level; ++n) {
        std::vector<Triangle> finer;
        for (const Triangle& old : all) {
            Triangle middle;
            for (std::size_t side = 0; side < 3; ++side)
                for (std::size_t a = 0; a < 3; ++a)
                    middle[side][a] = 0.5 * (old[side][a] + old[(side + 1) % 3][a]);
            finer.push_back(middle);
            for (std::size_t side = 0; side < 3; ++side)
                finer.push_back({old[side], middle[side], middle[(side + 2) % 3]});
        }
        all = std::move(finer);
    }
    for (Triangle& triangle : all)
        for (domain::Vector& corner : triangle) {
            const double size = is_round ? std::hypot(corner[0], corner[1], corner[2]) : 1;
            for (std::size_t a = 0; a < 3; ++a)
                corner[a] = centre[a] + radius * corner[a] / size;
        }
    return all;
}

} // namespace uzushio::geometry
