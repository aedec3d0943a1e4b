#pragma once

#include <cstdlib>

#include "stencil/area.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// Tile and its four sides; a side at an edge of the domain never moves.
struct TileShape {
    Rect rect;
    bool left = false; ///< whether there is a neighbour
    bool right = false;
    bool below = false;
    bool above = false;

    /// Row y of the points within distance `steps` of the rectangle in the metric of the
    /// five-point stencil (|dx| + |dy|): the corners are cut.
    [[nodiscard]] Range grown(int y, int steps) const {
        const int beyond = std::max({0, rect.y.begin - y, y - rect.y.end + 1});
        if (beyond > steps || (y < rect.y.begin && !below) || (y >= rect.y.end && !above))
            return {};
        return {rect.x.begin - (left ? steps - beyond : 0),
                rect.x.end + (right ? steps - beyond : 0)};
    }

    /// Points that are independent of other tiles after `steps` steps; may be empty.
    [[nodiscard]] Rect shrunk(int steps) const {
        return {{rect.x.begin + (left ? steps : 0), rect.x.end - (right ? steps : 0)},
                {rect.y.begin + (below ? steps : 0), rect.y.end - (above ? steps : 0)}};
    }

    /// Tile after a shift of all tiles to the left and down by `points`.
    [[nodiscard]] TileShape moved(int points) const {
        TileShape shape = *this;
        shape.rect = {{rect.x.begin - (left ? points : 0), rect.x.end - (right ? points : 0)},
                      {rect.y.begin - (below ? points : 0), rect.y.end - (above ? points : 0)}};
        return shape;
    }

    /// Rectangle extended by `width` points on each side that has a neighbour.
    [[nodiscard]] Rect with_halo(int width) const { return shrunk(-width); }
};

/// Return the shape of the tile `dx` to the right of this rank's and `dy` above it.
[[nodiscard]] inline TileShape tile_shape(const Tiling& tiling, int dx = 0, int dy = 0) {
    const Rect rect = tiling.tile(dx, dy);
    return {rect, tiling.periodic_x() || rect.x.begin > 0,
            tiling.periodic_x() || rect.x.end < tiling.nx(),
            tiling.periodic_y() || rect.y.begin > 0,
            tiling.periodic_y() || rect.y.end < tiling.ny()};
}

/// Return `row` as spans; none if it is empty.
[[nodiscard]] inline RowSpans spans_of(Range row) {
    return row.size() > 0 ? RowSpans{row} : RowSpans{};
}

} // namespace uzushio::stencil
