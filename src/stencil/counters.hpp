#pragma once

#include <cstdint>

namespace uzushio::stencil {

/// What this rank did in its sweeps.
struct Counters {
    std::int64_t steps = 0;
    std::int64_t blocks = 0;
    std::int64_t messages = 0;  ///< sent to other ranks
    std::int64_t bytes = 0;     ///< in them
    std::int64_t points = 0;    ///< updates of a point, redundant ones among them
    std::int64_t redundant = 0; ///< updates of points that are another rank's own
    bool operator==(const Counters&) const = default;
};

} // namespace uzushio::stencil
