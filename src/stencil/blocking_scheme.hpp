#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>

#include "stencil/sweep_plan.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// Maximum steps of a block if no tile has a neighbour.
inline constexpr int unlimited_steps = 1 << 20;

/// Kind of a block of a sweep, which determines its plan.
struct BlockKind {
    int steps = 1;
    int block_steps = 1;   ///< of the sweep's other blocks
    int margin = 0;        ///< points beyond the tile that are updated at every level
    bool overlap = true;   ///< overlap communication with independent computation
    bool odd = false;      ///< whether its index, counted from the lowest step, is odd
    bool backward = false; ///< whether steps decrease
    int to_level = 0;      ///< last level of a backward block of a scheme with moving tiles
    bool entry = false;    ///< whether it is the single step before all backward blocks of such
                           ///< a scheme
    auto operator<=>(const BlockKind&) const = default;
};

/// Scheme of time blocking: divides a block of steps into computation and communication of ranks.
struct BlockingScheme {
    std::string_view name;
    std::string_view about; ///< one line
    bool margins = false;   ///< whether it supports a margin
    bool moves = false;     ///< whether its tiles move from block to block
    /// Maximum steps of a block for the extents of the tiles; below 1 if no block fits.
    int (*max_steps)(const Tiling& tiling, int margin);
    SweepPlan (*plan)(const Tiling& tiling, const BlockKind& kind);
};

/// Return all schemes.
[[nodiscard]] std::span<const BlockingScheme> schemes();

/// Return a scheme by name; throw `std::invalid_argument` with the known names if there is none.
[[nodiscard]] const BlockingScheme& find_scheme(std::string_view name);

} // namespace uzushio::stencil
