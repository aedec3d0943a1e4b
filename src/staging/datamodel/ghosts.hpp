#pragma once

#include <array>
#include <cstdint>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// Ghost widths of an array, below and above along the axes of a `Box`.
struct Ghosts {
    std::array<std::uint16_t, 3> lower{};
    std::array<std::uint16_t, 3> upper{};

    bool operator==(const Ghosts&) const = default;
};

/// Return the owned box with its ghost layers.
[[nodiscard]] constexpr Box grow(Box box, const Ghosts& ghosts) {
    for (std::size_t i = 0; i < 3; ++i) {
        box.lower[i] -= ghosts.lower[i];
        box.upper[i] += ghosts.upper[i];
    }
    return box;
}

} // namespace uzushio::staging
