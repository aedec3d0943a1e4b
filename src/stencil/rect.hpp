#pragma once

#include <algorithm>
#include <cstdint>

#include "parallel/block.hpp"

namespace uzushio::stencil {

using parallel::Range;

/// Points of the plane by their global indices, half-open in both directions. Where a direction is
/// periodic, points beyond an edge keep their unwrapped indices: -1 is left of 0.
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

/// The smallest rectangle that holds both; an empty one counts for nothing.
[[nodiscard]] constexpr Rect around(const Rect& a, const Rect& b) {
    if (a.empty() || b.empty())
        return a.empty() ? b : a;
    return {{std::min(a.x.begin, b.x.begin), std::max(a.x.end, b.x.end)},
            {std::min(a.y.begin, b.y.begin), std::max(a.y.end, b.y.end)}};
}

} // namespace uzushio::stencil
