#pragma once

#include <cstdint>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// A part of what a reader asked for that comes from one array of one rank.
struct Piece {
    std::uint32_t rank = 0;
    std::uint32_t block = 0; ///< index into StepInfo::blocks
    std::uint32_t array = 0; ///< index into Block::arrays
    Box source; ///< in the stored array, counted from its first value, ghost layers included
    Box target; ///< in the reader's array, counted from the start of the box asked for
    bool ghost = false; ///< from ghost layers, since no block owns it

    bool operator==(const Piece&) const = default;
};

} // namespace uzushio::staging
