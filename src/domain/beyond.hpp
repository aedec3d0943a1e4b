#pragma once

#include "domain/index_map.hpp"

namespace uzushio::domain {

/// Bound beyond all indices of any zone.
inline constexpr std::int64_t unlimited = std::int64_t{1} << 40;

/// Return the indices outside a zone with `cells` cells that are beyond a patch and, where the
/// patch reaches an edge of its face, also beyond that edge.
[[nodiscard]] constexpr Box<3> beyond(const Patch& patch, const Index<3>& cells,
                                      const Stagger& stagger) {
    Box<3> box;
    const std::size_t normal = patch.face.axis;
    box.lower[normal] = patch.face.is_upper() ? cells[normal] + stagger[normal] : -unlimited;
    box.upper[normal] = patch.face.is_upper() ? unlimited : 0;
    const auto along = patch.face.along();
    for (std::size_t t = 0; t < 2; ++t) {
        const std::size_t a = along[t];
        box.lower[a] = patch.range.lower[t] == 0 ? -unlimited : patch.range.lower[t];
        box.upper[a] =
            patch.range.upper[t] == cells[a] ? unlimited : patch.range.upper[t] + stagger[a];
    }
    return box;
}

} // namespace uzushio::domain
