#pragma once

namespace uzushio::domain {

/// Return the length of the next step towards a time that is `left` away. It is `longest`, but the
/// last steps are equal, or up to 1 % longer, so that none is shorter than half of the one before.
[[nodiscard]] constexpr double next_step(double longest, double left) {
    constexpr double stretch = 0.01;
    if (left <= (1 + stretch) * longest)
        return left;
    return left < (2 + stretch) * longest ? left / 2 : longest;
}

} // namespace uzushio::domain
