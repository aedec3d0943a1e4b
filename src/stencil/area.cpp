#include "stencil/area.hpp"

namespace uzushio::stencil {

void subtract(Parts& parts, Range hole) {
    if (hole.size() <= 0)
        return;
    Parts left;
    for (const Range& part : parts)
        for (const Range& rest :
             {intersect(part, {part.begin, hole.begin}), intersect(part, {hole.end, part.end})})
            if (rest.size() > 0)
                left.push_back(rest);
    parts = std::move(left);
}

void subtract(Parts& parts, const Rect& hole, int y) {
    if (!hole.empty() && y >= hole.y.begin && y < hole.y.end)
        subtract(parts, hole.x);
}

std::int64_t points(const Area& area) {
    std::int64_t sum = 0;
    for (const Rect& rect : area)
        sum += rect.points();
    return sum;
}

std::int64_t points_within(const Area& area, const Rect& rect) {
    std::int64_t sum = 0;
    for (const Rect& part : area)
        sum += intersect(part, rect).points();
    return sum;
}

} // namespace uzushio::stencil
