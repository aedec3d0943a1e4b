#include "stencil/halo.hpp"

#include <utility>

#include "stencil/stages.hpp"

namespace uzushio::stencil {

namespace {

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

Exchange halo(const Tiling& tiling, const Shape& own, int width, bool corners) {
    const Range x = own.rect.x;
    const Range y = own.rect.y;
    const int beyond = corners ? width : 0;
    Stage along_x, along_y;
    add(along_x, tiling, -1, 0, {{0, {first(x, width), y}}}, {{0, {before(x, width), y}}});
    add(along_x, tiling, 1, 0, {{0, {last(x, width), y}}}, {{0, {behind(x, width), y}}});
    add(along_y, tiling, 0, -1, strip(own, beyond, first(y, width)),
        strip(own, beyond, before(y, width)));
    add(along_y, tiling, 0, 1, strip(own, beyond, last(y, width)),
        strip(own, beyond, behind(y, width)));
    if (!corners) {
        along_x.sends.insert(along_x.sends.end(), along_y.sends.begin(), along_y.sends.end());
        along_x.receives.insert(along_x.receives.end(), along_y.receives.begin(),
                                along_y.receives.end());
        along_y = {};
    }
    return stages(std::move(along_x), std::move(along_y));
}

} // namespace uzushio::stencil
