#include "stencil/area.hpp"

namespace uzushio::stencil {

void subtract(RowSpans& spans, Range hole) {
    if (hole.size() <= 0)
        return;
    RowSpans left;
    for (const Range& span : spans)
        for (const Range& rest :
             {intersect(span, {span.begin, hole.begin}), intersect(span, {hole.end, span.end})})
            if (rest.size() > 0)
                left.push_back(rest);
    spans = std::move(left);
}

void subtract(RowSpans& spans, const Rect& hole, int y) {
    if (!hole.empty() && y >= hole.y.begin && y < hole.y.end)
        subtract(spans, hole.x);
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
