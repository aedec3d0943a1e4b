#include "stencil/scheme_plans.hpp"

#include <algorithm>

#include "stencil/exchange_plans.hpp"
#include "stencil/tile_shape.hpp"

namespace uzushio::stencil {

int max_trapezoid_steps(const Tiling& tiling, int margin) {
    int max_width = unlimited_steps;
    if (tiling.has_neighbours_x())
        max_width = std::min(max_width, tiling.min_extent_x());
    if (tiling.has_neighbours_y())
        max_width = std::min(max_width, tiling.min_extent_y());
    return max_width == unlimited_steps ? max_width : max_width - margin;
}

SweepPlan trapezoid(const Tiling& tiling, const BlockKind& kind) {
    const TileShape own = tile_shape(tiling);
    const int width = kind.steps + kind.margin;
    SweepPhase phase;
    phase.exchange = halo_exchange(tiling, own, width, width > 1);
    for (int level = 1; level <= kind.steps; ++level) {
        const int growth = width - level;
        const Rect independent = kind.overlap ? own.shrunk(level) : Rect{};
        phase.meanwhile.updates.push_back(independent.empty() ? Area{} : Area{independent});
        phase.after.updates.push_back(area_of(own.with_halo(growth).y, [&](int y) {
            RowSpans spans = spans_of(own.grown(y, growth));
            subtract(spans, independent, y);
            return spans;
        }));
    }
    SweepPlan plan;
    plan.steps = kind.steps;
    plan.phases.push_back(std::move(phase));
    plan.owned = own.rect;
    return plan;
}

} // namespace uzushio::stencil
