#pragma once

#include "raycast/color_table.hpp"
#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// What the rays of a packet have gathered.
struct Pixels {
    /// What still shines through when a ray ends: less than half of 1/255 with several ranks.
    static constexpr float opaque = 1e-3F;
    /// Opacity at which a ray's depth is that of what it meets.
    static constexpr float opaque_enough = 0.5F;

    Floats red{}, green{}, blue{}; ///< premultiplied
    Floats left = floats(1);       ///< what of the background still shines through
    Floats depth = floats(infinity);

    /// Rays that have not ended.
    [[nodiscard]] UZUSHIO_INLINE Mask open() const { return less(floats(opaque), left); }

    /// Take in a colour with this weight, after which this much shines through; returns what did
    /// before.
    UZUSHIO_INLINE Floats take(Floats weight, Floats remaining, Floats r, Floats g, Floats b) {
        const Floats before = left;
        red = fma(weight, r, red);
        green = fma(weight, g, green);
        blue = fma(weight, b, blue);
        left = remaining;
        return before;
    }

    /// Rays that have just become opaque enough for it have this depth.
    UZUSHIO_INLINE void reach(Mask rays, Floats before, Floats here) {
        const Mask now = rays & less(floats(1 - opaque_enough), before) &
                         less_equal(left, floats(1 - opaque_enough));
        depth = select(now, here, depth);
    }
};

} // namespace uzushio::raycast
