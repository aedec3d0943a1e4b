#pragma once

#include "raycast/plan.hpp"
#include "raycast/span.hpp"

namespace uzushio::raycast {

/// Rays on which a surface's value lies between those at the ends, which are finite.
[[nodiscard]] UZUSHIO_INLINE Mask crosses(Floats first, Floats second, Floats value) {
    return (less(first, value) ^ less(second, value)) & are_finite(first, second);
}

/// Distances at which the field has the surface's value, between ends at which it is on either
/// side of it.
Floats crossing(const Plan& plan, const Part& part, const Packet& packet, const Surface& surface,
                Mask rays, const Span& span);

} // namespace uzushio::raycast
