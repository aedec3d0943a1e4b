#pragma once

#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// Colour, transmittance and depth of a packet's rays so far.
struct PacketPixels {
    /// Transmittance below which a ray ends: less than half of 1/255 with several ranks.
    static constexpr float min_transmittance = 1e-3F;
    /// Opacity at which a ray's depth is set.
    static constexpr float depth_opacity = 0.5F;

    Floats red{}, green{}, blue{};    ///< premultiplied
    Floats transmittance = floats(1); ///< of the ray so far, from 1 to 0
    Floats depth = floats(infinity);

    /// Return the rays that have not ended.
    [[nodiscard]] UZUSHIO_INLINE Mask unterminated() const {
        return less(floats(min_transmittance), transmittance);
    }

    /// Add a colour with a weight and set the transmittance; return the transmittance before.
    UZUSHIO_INLINE Floats accumulate(Floats weight, Floats remaining, Floats r, Floats g,
                                     Floats b) {
        const Floats before = transmittance;
        red = fma(weight, r, red);
        green = fma(weight, g, green);
        blue = fma(weight, b, blue);
        transmittance = remaining;
        return before;
    }

    /// Set the depth of rays whose opacity has just passed `depth_opacity`.
    UZUSHIO_INLINE void update_depth(Mask rays, Floats before, Floats here) {
        const Mask now = rays & less(floats(1 - depth_opacity), before) &
                         less_equal(transmittance, floats(1 - depth_opacity));
        depth = select(now, here, depth);
    }
};

} // namespace uzushio::raycast
