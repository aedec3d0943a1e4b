#pragma once

#include <cstdint>
#include <vector>

#include "stencil/rect.hpp"

namespace uzushio::stencil {

/// Points of the plane as rectangles that do not overlap, in order of rows, then of columns.
using Area = std::vector<Rect>;

/// Parts of one row, in order; none is empty and no two touch.
using Parts = std::vector<Range>;

/// Takes `hole` out of `parts`.
void subtract(Parts& parts, Range hole);

/// Takes what `hole` covers of row y out of `parts`.
void subtract(Parts& parts, const Rect& hole, int y);

/// The area whose row y is `parts(y)`, for y in `rows`. Equal rows become one rectangle a part.
template <class RowParts> [[nodiscard]] Area area_of(Range rows, RowParts&& parts) {
    Area area;
    Parts before;
    for (int y = rows.begin; y < rows.end; ++y) {
        const Parts here = parts(y);
        if (here == before) {
            for (auto last = area.end() - static_cast<std::ptrdiff_t>(here.size());
                 last != area.end(); ++last)
                last->y.end = y + 1;
            continue;
        }
        for (const Range& part : here)
            area.push_back({part, {y, y + 1}});
        before = here;
    }
    return area;
}

[[nodiscard]] std::int64_t points(const Area& area);

/// Points of `area` within `rect`.
[[nodiscard]] std::int64_t points_within(const Area& area, const Rect& rect);

} // namespace uzushio::stencil
