#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>

#include "stencil/plan.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// Steps of a block where no tile has a neighbour.
inline constexpr int unlimited_steps = 1 << 20;

/// Which block of a sweep a plan is for.
struct BlockKind {
    int steps = 1;
    int block_steps = 1;   ///< of the sweep's other blocks
    int margin = 0;        ///< points beyond the tile that are kept current at every level
    bool overlap = true;   ///< compute what does not depend on an exchange while it goes on
    bool odd = false;      ///< its number, counted from the lowest step, is odd
    bool backward = false; ///< steps run down
    int to_level = 0;      ///< backward, of a scheme whose tiles move: where it ends
    bool entry = false;    ///< the same: it is the one step that comes before all blocks
    auto operator<=>(const BlockKind&) const = default;
};

/// A way to cut blocks of steps into what ranks compute and send.
struct Scheme {
    std::string_view name;
    std::string_view about; ///< one line
    bool margins = false;   ///< takes a margin
    bool moves = false;     ///< its tiles move from block to block
    /// The most steps of a block that the tiling's tiles are thick enough for; below 1: none.
    int (*most_steps)(const Tiling& tiling, int margin);
    Plan (*plan)(const Tiling& tiling, const BlockKind& kind);
};

/// All schemes.
[[nodiscard]] std::span<const Scheme> schemes();

/// Throws `std::invalid_argument` with the names that there are.
[[nodiscard]] const Scheme& find_scheme(std::string_view name);

} // namespace uzushio::stencil
