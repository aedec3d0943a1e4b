#pragma once

#include <cstdint>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// Strides of an array in bytes, along each axis of a `Box` and between components. Strides are
/// positive, and values do not overlap: a stride is at least the extent of all inner axes.
struct ArrayLayout {
    Extent strides{};
    std::int64_t component_stride = 0;

    bool operator==(const ArrayLayout&) const = default;
};

/// Layout without gaps in the order z, y, x, component.
[[nodiscard]] constexpr ArrayLayout interleaved(const Extent& count, std::int64_t components,
                                                std::int64_t scalar_bytes) {
    const std::int64_t x = components * scalar_bytes;
    return {{count[1] * count[2] * x, count[2] * x, x}, scalar_bytes};
}

/// Layout without gaps in the order component, z, y, x.
[[nodiscard]] constexpr ArrayLayout planar(const Extent& count, std::int64_t scalar_bytes) {
    return {{count[1] * count[2] * scalar_bytes, count[2] * scalar_bytes, scalar_bytes},
            count[0] * count[1] * count[2] * scalar_bytes};
}

} // namespace uzushio::staging
