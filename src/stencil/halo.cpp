#include "stencil/halo.hpp"

#include "stencil/shape.hpp"

namespace uzushio::stencil {

namespace {

enum Tag { leftwards, rightwards, downwards, upwards };

/// The strip of `width` points just inside a range's end, or just beyond it.
Range first(Range r, int width) { return {r.begin, r.begin + width}; }
Range last(Range r, int width) { return {r.end - width, r.end}; }
Range before(Range r, int width) { return {r.begin - width, r.begin}; }
Range behind(Range r, int width) { return {r.end, r.end + width}; }

/// The strip `y` over the tile's columns and, with `beyond`, the corners beside them.
std::vector<Patch> strip(const Shape& own, int beyond, Range y) {
    const Range x = own.rect.x;
    std::vector<Patch> patches{{0, {x, y}}};
    if (beyond > 0 && own.left)
        patches.push_back({0, {before(x, beyond), y}, true});
    if (beyond > 0 && own.right)
        patches.push_back({0, {behind(x, beyond), y}, true});
    return patches;
}

} // namespace

Exchange halo(const Tiling& tiling, int width, bool corners) {
    const Shape own = shape_of(tiling);
    const Range x = own.rect.x;
    const Range y = own.rect.y;
    const int beyond = corners ? width : 0;
    Stage along_x, along_y;
    const auto add = [](Stage& stage, int rank, int send_tag, std::vector<Patch> send,
                        int receive_tag, std::vector<Patch> receive) {
        if (rank == MPI_PROC_NULL)
            return;
        stage.sends.push_back({rank, send_tag, std::move(send)});
        stage.receives.push_back({rank, receive_tag, std::move(receive)});
    };
    add(along_x, tiling.neighbour(-1, 0), leftwards, {{0, {first(x, width), y}}}, rightwards,
        {{0, {before(x, width), y}}});
    add(along_x, tiling.neighbour(1, 0), rightwards, {{0, {last(x, width), y}}}, leftwards,
        {{0, {behind(x, width), y}}});
    add(along_y, tiling.neighbour(0, -1), downwards, strip(own, beyond, first(y, width)), upwards,
        strip(own, beyond, before(y, width)));
    add(along_y, tiling.neighbour(0, 1), upwards, strip(own, beyond, last(y, width)), downwards,
        strip(own, beyond, behind(y, width)));
    if (!corners) {
        along_x.sends.insert(along_x.sends.end(), along_y.sends.begin(), along_y.sends.end());
        along_x.receives.insert(along_x.receives.end(), along_y.receives.begin(),
                                along_y.receives.end());
        along_y = {};
    }
    Exchange exchange;
    for (Stage* stage : {&along_x, &along_y})
        if (!stage->sends.empty())
            exchange.push_back(std::move(*stage));
    return exchange;
}

} // namespace uzushio::stencil
