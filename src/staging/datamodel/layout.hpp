#pragma once

#include <cstdint>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// Bytes from one value of an array to the next along each axis (z, y, x) and from one component to
/// the next. Strides are positive and values do not overlap: each stride spans all that is nested
/// in it.
struct Layout {
    Extent strides{};
    std::int64_t component_stride = 0;

    bool operator==(const Layout&) const = default;
};

/// Without gaps, components of a value side by side: z, y, x, component.
[[nodiscard]] constexpr Layout interleaved(const Extent& count, std::int64_t components,
                                           std::int64_t scalar_bytes) {
    const std::int64_t x = components * scalar_bytes;
    return {{count[1] * count[2] * x, count[2] * x, x}, scalar_bytes};
}

/// Without gaps, one component after the other: component, z, y, x.
[[nodiscard]] constexpr Layout planar(const Extent& count, std::int64_t scalar_bytes) {
    return {{count[1] * count[2] * scalar_bytes, count[2] * scalar_bytes, scalar_bytes},
            count[0] * count[1] * count[2] * scalar_bytes};
}

} // namespace uzushio::staging
