#pragma once

#include <array>
#include <vector>

#include "solvers/thermal/immersed_grid.hpp"

namespace uzushio::thermal {

/// Linear extrapolation of a field across a surface that is near a point, on one side of it.
struct CutSide {
    int link = 0;    ///< cut link: 1: that to the next point, 2: the one behind it; 0: none
    int surface = 0; ///< number of the body
    /// Weights of the value at the surface, at the last point before it, and at the point before
    /// that, for the value at the first point beyond it.
    double at_surface = 0, near = 0, behind = 0;
    double distance = 0; ///< of the surface from the last point before it
    Vector normal{};     ///< unit vector across the surface, from that point
    /// Return the value beyond the surface.
    [[nodiscard]] double beyond(double surface_value, double near_value,
                                double behind_value) const {
        return at_surface * surface_value + near * near_value + behind * behind_value;
    }
};

/// Point of a lattice with surfaces near it: along each axis, on the lower and the upper side.
struct CutPoint {
    Index<3> at{};
    std::array<std::array<CutSide, 2>, 3> sides{};
};

/// Call `visit(axis, side, cut)` for the sides of a point whose links are cut.
template <class Visit> void for_sides(const CutPoint& point, const Visit& visit) {
    for (std::size_t a = 0; a < 3; ++a)
        for (const std::size_t side : {0UL, 1UL})
            if (point.sides[a][side].link == 1)
                visit(a, side, point.sides[a][side]);
}

/// Return the points of a box at most `reach` links from a surface, along all axes but `except`.
[[nodiscard]] std::vector<CutPoint> cut_points(const ImmersedGrid& immersed,
                                               const geometry::Lattice& lattice,
                                               const Box<3>& points, std::size_t except, int reach);

/// Return the values at `here` and its neighbours at distances -reach … reach, in the middle of
/// five, with those beyond a surface extrapolated. `value(surface)`: at the surface of a body.
template <class Value>
std::array<double, 5> line_of(const double* here, std::ptrdiff_t stride, int reach,
                              const std::array<CutSide, 2>& sides, const Value& value) {
    std::array<double, 5> line{};
    double* middle = line.data() + 2;
    for (int shift = -reach; shift <= reach; ++shift)
        middle[shift] = here[shift * stride];
    for (std::size_t side = 0; side < 2; ++side) {
        const CutSide& cut = sides[side];
        const int step = side == 0 ? -1 : 1;
        if (cut.link == 1) {
            middle[step] = cut.beyond(value(cut.surface), middle[0], middle[-step]);
            middle[2 * step] = 2 * middle[step] - middle[0];
        } else if (cut.link == 2) {
            middle[2 * step] = cut.beyond(value(cut.surface), middle[step], middle[0]);
        }
    }
    return line;
}

} // namespace uzushio::thermal
