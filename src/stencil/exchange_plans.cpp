#include "stencil/exchange_plans.hpp"

#include <utility>

namespace uzushio::stencil {

namespace {

/// Strip of `width` points inside an end of a range, or beyond it.
Range first(Range r, int width) { return {r.begin, r.begin + width}; }
Range last(Range r, int width) { return {r.end - width, r.end}; }
Range before(Range r, int width) { return {r.begin - width, r.begin}; }
Range behind(Range r, int width) { return {r.end, r.end + width}; }

/// Strip `y` over the tile's columns and the adjacent corners of width `beyond`.
std::vector<BufferRect> strip(const TileShape& own, int beyond, Range y) {
    const Range x = own.rect.x;
    std::vector<BufferRect> rects{{0, {x, y}}};
    if (beyond > 0 && own.left)
        rects.push_back({0, {before(x, beyond), y}, true});
    if (beyond > 0 && own.right)
        rects.push_back({0, {behind(x, beyond), y}, true});
    return rects;
}

} // namespace

void add_send(ExchangeStage& stage, const Tiling& tiling, int dx, int dy,
              std::vector<BufferRect> rects) {
    const int rank = tiling.neighbour(dx, dy);
    // Two tiles of a periodic axis share two borders: the tag identifies the direction.
    if (rank != MPI_PROC_NULL && !rects.empty())
        stage.sends.push_back({rank, 3 * (dy + 1) + dx + 1, std::move(rects)});
}

void add_receive(ExchangeStage& stage, const Tiling& tiling, int dx, int dy,
                 std::vector<BufferRect> rects) {
    const int rank = tiling.neighbour(dx, dy);
    if (rank != MPI_PROC_NULL && !rects.empty())
        stage.receives.push_back({rank, 3 * (1 - dy) + 1 - dx, std::move(rects)});
}

void add_both(ExchangeStage& stage, const Tiling& tiling, int dx, int dy,
              std::vector<BufferRect> out, std::vector<BufferRect> in) {
    add_send(stage, tiling, dx, dy, std::move(out));
    add_receive(stage, tiling, dx, dy, std::move(in));
}

ExchangePlan non_empty(ExchangeStage first, ExchangeStage second) {
    ExchangePlan exchange;
    for (ExchangeStage* stage : {&first, &second})
        if (!stage->sends.empty() || !stage->receives.empty())
            exchange.push_back(std::move(*stage));
    return exchange;
}

ExchangePlan halo_exchange(const Tiling& tiling, const TileShape& tile, int width, bool corners) {
    const Range x = tile.rect.x;
    const Range y = tile.rect.y;
    const int beyond = corners ? width : 0;
    ExchangeStage along_x, along_y;
    add_both(along_x, tiling, -1, 0, {{0, {first(x, width), y}}}, {{0, {before(x, width), y}}});
    add_both(along_x, tiling, 1, 0, {{0, {last(x, width), y}}}, {{0, {behind(x, width), y}}});
    add_both(along_y, tiling, 0, -1, strip(tile, beyond, first(y, width)),
             strip(tile, beyond, before(y, width)));
    add_both(along_y, tiling, 0, 1, strip(tile, beyond, last(y, width)),
             strip(tile, beyond, behind(y, width)));
    if (!corners) {
        along_x.sends.insert(along_x.sends.end(), along_y.sends.begin(), along_y.sends.end());
        along_x.receives.insert(along_x.receives.end(), along_y.receives.begin(),
                                along_y.receives.end());
        along_y = {};
    }
    return non_empty(std::move(along_x), std::move(along_y));
}

ExchangePlan relocation_exchange(const Tiling& tiling, int from, int to) {
    if (from == to)
        return {};
    const TileShape home = tile_shape(tiling);
    const Rect before = home.moved(from).rect;
    const Rect after = home.moved(to).rect;
    const Rect kept = intersect(before, after);
    const bool down = to > from;
    // The strip that a tile loses at one end is gained by its neighbour there.
    const auto ends = [down](Range lost_of, Range gained_of) {
        return down ? std::pair{Range{gained_of.end, lost_of.end},
                                Range{gained_of.begin, lost_of.begin}}
                    : std::pair{Range{lost_of.begin, gained_of.begin},
                                Range{lost_of.end, gained_of.end}};
    };
    const auto [lost_x, gained_x] = ends(before.x, after.x);
    const auto [lost_y, gained_y] = ends(before.y, after.y);
    const auto strip = [&](Range y) {
        std::vector<BufferRect> rects{{0, {kept.x, y}}};
        if (gained_x.size() > 0)
            rects.push_back({0, {gained_x, y}, true});
        return rects;
    };
    const int direction = down ? 1 : -1;
    ExchangeStage x, y;
    add_send(x, tiling, direction, 0, {{0, {lost_x, before.y}}});
    add_receive(x, tiling, -direction, 0, {{0, {gained_x, before.y}}});
    add_send(y, tiling, 0, direction, strip(lost_y));
    add_receive(y, tiling, 0, -direction, strip(gained_y));
    return non_empty(std::move(x), std::move(y));
}

} // namespace uzushio::stencil
