#include "stencil/trapezoid.hpp"

#include <algorithm>

#include "stencil/halo.hpp"
#include "stencil/shape.hpp"

namespace uzushio::stencil {

int most_trapezoid_steps(const Tiling& tiling, int margin) {
    int thickness = unlimited_steps;
    if (tiling.cut_x())
        thickness = std::min(thickness, tiling.narrowest_x());
    if (tiling.cut_y())
        thickness = std::min(thickness, tiling.narrowest_y());
    return thickness == unlimited_steps ? thickness : thickness - margin;
}

Plan trapezoid(const Tiling& tiling, const BlockKind& kind) {
    const Shape own = shape_of(tiling);
    const int width = kind.steps + kind.margin;
    Phase phase;
    phase.exchange = halo(tiling, own, width, width > 1);
    for (int level = 1; level <= kind.steps; ++level) {
        const int growth = width - level;
        const Rect alone = kind.overlap ? own.shrunk(level) : Rect{};
        phase.meanwhile.updates.push_back(alone.empty() ? Area{} : Area{alone});
        phase.after.updates.push_back(area_of(own.with_halo(growth).y, [&](int y) {
            Parts parts = parts_of(own.grown(y, growth));
            subtract(parts, alone, y);
            return parts;
        }));
    }
    Plan plan;
    plan.steps = kind.steps;
    plan.phases.push_back(std::move(phase));
    plan.owned = own.rect;
    return plan;
}

} // namespace uzushio::stencil
