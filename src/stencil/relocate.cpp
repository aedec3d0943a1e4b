#include "stencil/relocate.hpp"

#include <utility>

#include "stencil/shape.hpp"
#include "stencil/stages.hpp"

namespace uzushio::stencil {

Exchange relocate(const Tiling& tiling, int from, int to) {
    if (from == to)
        return {};
    const Shape home = shape_of(tiling);
    const Rect before = home.moved(from).rect;
    const Rect after = home.moved(to).rect;
    const Rect kept = intersect(before, after);
    const bool down = to > from;
    // What a tile loses at one end is what its neighbour there gains.
    const auto ends = [down](Range lost_of, Range gained_of) {
        return down ? std::pair{Range{gained_of.end, lost_of.end},
                                Range{gained_of.begin, lost_of.begin}}
                    : std::pair{Range{lost_of.begin, gained_of.begin},
                                Range{lost_of.end, gained_of.end}};
    };
    const auto [lost_x, gained_x] = ends(before.x, after.x);
    const auto [lost_y, gained_y] = ends(before.y, after.y);
    const auto strip = [&](Range y) {
        std::vector<Patch> patches{{0, {kept.x, y}}};
        if (gained_x.size() > 0)
            patches.push_back({0, {gained_x, y}, true});
        return patches;
    };
    const int forth = down ? 1 : -1;
    Stage x, y;
    send(x, tiling, forth, 0, {{0, {lost_x, before.y}}});
    receive(x, tiling, -forth, 0, {{0, {gained_x, before.y}}});
    send(y, tiling, 0, forth, strip(lost_y));
    receive(y, tiling, 0, -forth, strip(gained_y));
    return stages(std::move(x), std::move(y));
}

} // namespace uzushio::stencil
