#include "stencil/executor.hpp"

#include <algorithm>

namespace uzushio::stencil {

namespace {

/// A region under way, and where its values are.
struct Job {
    const Tiling& tiling;
    const Region& region;
    const Rect& owned;
    Levels& levels;
    int first;
    int step;
    int direction;
    const RowUpdate& update;

    /// The rows of update u within `rect`.
    void rows(int u, const Rect& rect, int thread) const {
        const int step_here = step + direction * u;
        for (const Rect& part : region.updates[static_cast<std::size_t>(u)]) {
            if (part.y.begin >= rect.y.end)
                break; // they are in order
            const Rect piece = intersect(part, rect);
            if (piece.empty())
                continue;
            for (int y = piece.y.begin; y < piece.y.end; ++y)
                row(u, step_here, y, piece.x, thread);
        }
    }

    void row(int u, int step_here, int y, Range x, int thread) const {
        const int from = first ^ (u & 1);
        double* const here = levels.row(from, y);
        const bool edge_below = y == 0 && !tiling.periodic_y();
        const bool edge_above = y == tiling.ny() - 1 && !tiling.periodic_y();
        // Only this row reads these two, and only now.
        if (!tiling.periodic_x() && x.begin == 0)
            here[-1] = here[0];
        if (!tiling.periodic_x() && x.end == tiling.nx())
            here[x.end] = here[x.end - 1];
        const bool ours = y >= owned.y.begin && y < owned.y.end;
        Range own = ours ? intersect(x, owned.x) : Range{};
        if (own.size() <= 0)
            own = {x.begin, x.begin};
        update(step_here, {y, x.begin, x.end, edge_below ? here : levels.row(from, y - 1), here,
                           edge_above ? here : levels.row(from, y + 1), levels.row(from ^ 1, y),
                           own.begin, own.end, thread});
    }
};

} // namespace

void Executor::compute(const Region& region, const Rect& owned, Levels& levels, int first, int step,
                       int direction, const RowUpdate& update,
                       const std::function<void()>& idle) const {
    const Job job{tiling_, region, owned, levels, first, step, direction, update};
    for (int u = 0; u < static_cast<int>(region.updates.size()); ++u) {
        job.rows(u, levels.box(), 0);
        idle();
    }
}

} // namespace uzushio::stencil
