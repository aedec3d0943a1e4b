#pragma once

#include "raycast/color_table.hpp"
#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// What the rays of a packet have gathered.
struct PacketPixels {
    /// What still shines through when a ray ends: less than half of 1/255 with several ranks.
    static constexpr float min_transmittance = 1e-3F;
    /// Opacity at which a ray's depth is that of what it meets.
    static constexpr float depth_opacity = 0.5F;

    Floats red{}, green{}, blue{};    ///< premultiplied
    Floats transmittance = floats(1); ///< what of the background still shines through
    Floats depth = floats(infinity);

    /// Rays that have not ended.
    [[nodiscard]] UZUSHIO_INLINE Mask unterminated() const {
        return less(floats(min_transmittance), transmittance);
    }

    /// Take in a colour with this weight, after which this much shines through; returns what did
    /// before.
    UZUSHIO_INLINE Floats accumulate(Floats weight, Floats remaining, Floats r, Floats g,
                                     Floats b) {
        const Floats before = transmittance;
        red = fma(weight, r, red);
        green = fma(weight, g, green);
        blue = fma(weight, b, blue);
        transmittance = remaining;
        return before;
    }

    /// Rays that have just become min_transmittance enough for it have this depth.
    UZUSHIO_INLINE void update_depth(Mask rays, Floats before, Floats here) {
        const Mask now = rays & less(floats(1 - depth_opacity), before) &
                         less_equal(transmittance, floats(1 - depth_opacity));
        depth = select(now, here, depth);
    }
};

} // namespace uzushio::raycast
