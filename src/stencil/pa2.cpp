#include "stencil/scheme_plans.hpp"

#include <algorithm>
#include <utility>

#include "stencil/exchange_plans.hpp"
#include "stencil/tile_shape.hpp"

namespace uzushio::stencil {

namespace {

/// Values that tile `from` sends to the ranks that compute around the tiles `to`: the points of
/// each level that it computed independently, are needed there and are at most one point from its
/// slope. These are the two points of each row that are not overwritten in the buffers.
std::vector<BufferRect> slopes(const TileShape& from, std::initializer_list<TileShape> to,
                               int steps, bool forwarded) {
    std::vector<BufferRect> rects;
    for (int level = 0; level < steps; ++level) {
        const Rect independent = from.shrunk(level);
        if (independent.empty())
            break;
        const Rect inside = from.shrunk(level + 2);
        const Area area = area_of(independent.y, [&](int y) {
            // Tiles in a column have the same x range, so the widest row contains the others.
            Range needed;
            for (const TileShape& tile : to)
                if (const Range row = tile.rect.empty() ? Range{} : tile.grown(y, steps - level);
                    row.size() > needed.size())
                    needed = row;
            RowSpans spans = spans_of(intersect(needed, independent.x));
            subtract(spans, inside, y);
            return spans;
        });
        for (const Rect& rect : area)
            rects.push_back({level & 1, rect, forwarded});
    }
    return rects;
}

void append(std::vector<BufferRect>& to, const std::vector<BufferRect>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

ExchangePlan exchange_slopes(const Tiling& tiling, int steps) {
    const auto tile = [&](int dx, int dy) { return tile_shape(tiling, dx, dy); };
    // The receiver forwards the values that the tiles above and below it need.
    const auto along_x = [&](int from, int to) {
        return slopes(tile(from, 0), {tile(to, 0), tile(to, -1), tile(to, 1)}, steps, false);
    };
    const auto along_y = [&](int from, int to) {
        std::vector<BufferRect> rects;
        for (const int dx : {0, -1, 1})
            if (const TileShape diagonal = tile(dx, from); !diagonal.rect.empty())
                append(rects, slopes(diagonal, {tile(0, to)}, steps, dx != 0));
        return rects;
    };
    ExchangeStage x, y;
    for (const int side : {-1, 1}) {
        if (tiling.neighbour(side, 0) != MPI_PROC_NULL)
            add_both(x, tiling, side, 0, along_x(0, side), along_x(side, 0));
        if (tiling.neighbour(0, side) != MPI_PROC_NULL)
            add_both(y, tiling, 0, side, along_y(0, side), along_y(side, 0));
    }
    return non_empty(std::move(x), std::move(y));
}

} // namespace

SweepPlan pa2(const Tiling& tiling, const BlockKind& kind) {
    const int steps = kind.steps;
    const TileShape own = tile_shape(tiling);
    SweepPhase before, rest;
    for (int level = 1; level <= steps; ++level) {
        const Rect independent = own.shrunk(level);
        // The slopes that are sent, and their dependencies, are closer to the sides.
        const Rect later = kind.overlap ? own.shrunk(std::max(level, steps + 1 - level)) : Rect{};
        before.after.updates.push_back(area_of(independent.y, [&](int y) {
            RowSpans spans = spans_of(independent.x);
            subtract(spans, later, y);
            return spans;
        }));
        rest.meanwhile.updates.push_back(later.empty() ? Area{} : Area{later});
        rest.after.updates.push_back(area_of(own.with_halo(steps - level).y, [&](int y) {
            RowSpans spans = spans_of(own.grown(y, steps - level));
            for (const int dy : {-1, 0, 1})
                for (const int dx : {-1, 0, 1})
                    subtract(spans, tile_shape(tiling, dx, dy).shrunk(level), y);
            return spans;
        }));
    }
    rest.exchange = exchange_slopes(tiling, steps);
    SweepPlan plan;
    plan.steps = steps;
    plan.owned = own.rect;
    plan.phases = {std::move(before), std::move(rest)};
    return plan;
}

} // namespace uzushio::stencil
