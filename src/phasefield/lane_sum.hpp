#pragma once

#include "phasefield/lanes.hpp"

namespace uzushio::phasefield {

/// Sums of eight columns of terms, each in doubled precision: the rounding errors of `high` are in
/// `low` (Knuth's sum of two, for terms of any sign and size).
struct LaneSum {
    Lanes high{};
    Lanes low{};

    UZUSHIO_INLINE void add(Lanes term) {
        const Lanes sum = high + term;
        const Lanes added = sum - high;
        low += (high - (sum - added)) + (term - added);
        high = sum;
    }
};

} // namespace uzushio::phasefield
