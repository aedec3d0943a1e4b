#pragma once

#include <cstdlib>

#include "stencil/area.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// A tile with its four sides, of which those at an edge of the domain never move.
struct Shape {
    Rect rect;
    bool left = false; ///< there is a tile beyond
    bool right = false;
    bool below = false;
    bool above = false;

    /// The row y of the points that are at most `steps` steps of the five-point stencil away from
    /// the rectangle: the corners are cut.
    [[nodiscard]] Range grown(int y, int steps) const {
        const int beyond = std::max({0, rect.y.begin - y, y - rect.y.end + 1});
        if (beyond > steps || (y < rect.y.begin && !below) || (y >= rect.y.end && !above))
            return {};
        return {rect.x.begin - (left ? steps - beyond : 0),
                rect.x.end + (right ? steps - beyond : 0)};
    }

    /// The points that know nothing of other tiles after `steps` steps; may be empty.
    [[nodiscard]] Rect shrunk(int steps) const {
        return {{rect.x.begin + (left ? steps : 0), rect.x.end - (right ? steps : 0)},
                {rect.y.begin + (below ? steps : 0), rect.y.end - (above ? steps : 0)}};
    }

    /// The tile when all have moved left and down by so many points.
    [[nodiscard]] Shape moved(int points) const {
        Shape shape = *this;
        shape.rect = {{rect.x.begin - (left ? points : 0), rect.x.end - (right ? points : 0)},
                      {rect.y.begin - (below ? points : 0), rect.y.end - (above ? points : 0)}};
        return shape;
    }

    /// The rectangle with `width` points more on each side that can move.
    [[nodiscard]] Rect with_halo(int width) const { return shrunk(-width); }
};

/// The shape of the tile `dx` to the right and `dy` above this rank's.
[[nodiscard]] inline Shape shape_of(const Tiling& tiling, int dx = 0, int dy = 0) {
    const Rect rect = tiling.tile(dx, dy);
    return {rect, tiling.periodic_x() || rect.x.begin > 0,
            tiling.periodic_x() || rect.x.end < tiling.nx(),
            tiling.periodic_y() || rect.y.begin > 0,
            tiling.periodic_y() || rect.y.end < tiling.ny()};
}

/// `row` as parts; none if it is empty.
[[nodiscard]] inline Parts parts_of(Range row) { return row.size() > 0 ? Parts{row} : Parts{}; }

} // namespace uzushio::stencil
