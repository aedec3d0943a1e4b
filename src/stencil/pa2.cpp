#include "stencil/pa2.hpp"

#include <algorithm>
#include <utility>

#include "stencil/shape.hpp"
#include "stencil/stages.hpp"

namespace uzushio::stencil {

namespace {

/// What tile `from` tells those that go on around the tiles `to`: of each level what it computed
/// alone, as far as it is needed there and not farther from its slope than a point. Those are the
/// two points of each row that stay in the buffers as they are.
std::vector<Patch> slopes(const Shape& from, std::initializer_list<Shape> to, int steps,
                          bool passed_on) {
    std::vector<Patch> patches;
    for (int level = 0; level < steps; ++level) {
        const Rect alone = from.shrunk(level);
        if (alone.empty())
            break;
        const Rect inside = from.shrunk(level + 2);
        const Area area = area_of(alone.y, [&](int y) {
            // Tiles above each other have the same columns, so the widest holds the others.
            Range wanted;
            for (const Shape& tile : to)
                if (const Range row = tile.rect.empty() ? Range{} : tile.grown(y, steps - level);
                    row.size() > wanted.size())
                    wanted = row;
            Parts parts = parts_of(intersect(wanted, alone.x));
            subtract(parts, inside, y);
            return parts;
        });
        for (const Rect& rect : area)
            patches.push_back({level & 1, rect, passed_on});
    }
    return patches;
}

void append(std::vector<Patch>& to, const std::vector<Patch>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

Exchange exchange_slopes(const Tiling& tiling, int steps) {
    const auto tile = [&](int dx, int dy) { return shape_of(tiling, dx, dy); };
    // What the tiles above and below the receiver need comes by it.
    const auto along_x = [&](int from, int to) {
        return slopes(tile(from, 0), {tile(to, 0), tile(to, -1), tile(to, 1)}, steps, false);
    };
    const auto along_y = [&](int from, int to) {
        std::vector<Patch> patches;
        for (const int dx : {0, -1, 1})
            if (const Shape diagonal = tile(dx, from); !diagonal.rect.empty())
                append(patches, slopes(diagonal, {tile(0, to)}, steps, dx != 0));
        return patches;
    };
    Stage x, y;
    for (const int side : {-1, 1}) {
        if (tiling.neighbour(side, 0) != MPI_PROC_NULL)
            add(x, tiling, side, 0, along_x(0, side), along_x(side, 0));
        if (tiling.neighbour(0, side) != MPI_PROC_NULL)
            add(y, tiling, 0, side, along_y(0, side), along_y(side, 0));
    }
    return stages(std::move(x), std::move(y));
}

} // namespace

Plan pa2(const Tiling& tiling, const BlockKind& kind) {
    const int steps = kind.steps;
    const Shape own = shape_of(tiling);
    Phase before, rest;
    for (int level = 1; level <= steps; ++level) {
        const Rect alone = own.shrunk(level);
        // Slopes that are sent, and what they come from, are no farther from the sides.
        const Rect later = kind.overlap ? own.shrunk(std::max(level, steps + 1 - level)) : Rect{};
        before.after.updates.push_back(area_of(alone.y, [&](int y) {
            Parts parts = parts_of(alone.x);
            subtract(parts, later, y);
            return parts;
        }));
        rest.meanwhile.updates.push_back(later.empty() ? Area{} : Area{later});
        rest.after.updates.push_back(area_of(own.with_halo(steps - level).y, [&](int y) {
            Parts parts = parts_of(own.grown(y, steps - level));
            for (const int dy : {-1, 0, 1})
                for (const int dx : {-1, 0, 1})
                    subtract(parts, shape_of(tiling, dx, dy).shrunk(level), y);
            return parts;
        }));
    }
    rest.exchange = exchange_slopes(tiling, steps);
    Plan plan;
    plan.steps = steps;
    plan.owned = own.rect;
    plan.phases = {std::move(before), std::move(rest)};
    return plan;
}

} // namespace uzushio::stencil
