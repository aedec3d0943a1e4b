#pragma once

#include <algorithm>
#include <cstdint>

#include "parallel/block.hpp"

namespace uzushio::stencil {

using parallel::Range;

/// Rectangle of points by global indices, half-open on both axes. On a periodic axis, points beyond
/// an edge have unwrapped indices: -1 is left of 0.
struct Rect {
    Range x;
    Range y;

    [[nodiscard]] constexpr bool empty() const { return x.end <= x.begin || y.end <= y.begin; }
    [[nodiscard]] constexpr std::int64_t points() const {
        return empty() ? 0 : std::int64_t{x.size()} * y.size();
    }
    bool operator==(const Rect&) const = default;
};

[[nodiscard]] constexpr Range intersect(Range a, Range b) {
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

[[nodiscard]] constexpr Rect intersect(const Rect& a, const Rect& b) {
    return {intersect(a.x, b.x), intersect(a.y, b.y)};
}

/// Smallest rectangle that contains both; an empty one is ignored.
[[nodiscard]] constexpr Rect bounding_rect(const Rect& a, const Rect& b) {
    if (a.empty() || b.empty())
        return a.empty() ? b : a;
    return {{std::min(a.x.begin, b.x.begin), std::max(a.x.end, b.x.end)},
            {std::min(a.y.begin, b.y.begin), std::max(a.y.end, b.y.end)}};
}

} // namespace uzushio::stencil
