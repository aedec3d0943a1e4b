#pragma once

#include <cstdint>
#include <vector>

#include "stencil/rect.hpp"

namespace uzushio::stencil {

/// Set of points as disjoint rectangles, ordered by rows, then by columns.
using Area = std::vector<Rect>;

/// Spans of one row, in increasing order; none is empty and no two are adjacent.
using RowSpans = std::vector<Range>;

/// Remove `hole` from `spans`.
void subtract(RowSpans& spans, Range hole);

/// Remove the intersection of `hole` and row y from `spans`.
void subtract(RowSpans& spans, const Rect& hole, int y);

/// Return the area whose row y consists of `spans(y)`, for y in `rows`. Equal rows are merged into
/// one rectangle for each span.
template <class SpansOf> [[nodiscard]] Area area_of(Range rows, SpansOf&& spans) {
    Area area;
    RowSpans before;
    for (int y = rows.begin; y < rows.end; ++y) {
        const RowSpans here = spans(y);
        if (here == before) {
            for (auto last = area.end() - static_cast<std::ptrdiff_t>(here.size());
                 last != area.end(); ++last)
                last->y.end = y + 1;
            continue;
        }
        for (const Range& span : here)
            area.push_back({span, {y, y + 1}});
        before = here;
    }
    return area;
}

[[nodiscard]] std::int64_t points(const Area& area);

/// Count the points of `area` within `rect`.
[[nodiscard]] std::int64_t points_within(const Area& area, const Rect& rect);

} // namespace uzushio::stencil
