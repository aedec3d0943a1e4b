#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// Part of a read that comes from one array of one rank.
struct Piece {
    std::uint32_t rank = 0;
    std::uint32_t block = 0; ///< index into StepInfo::blocks
    std::uint32_t array = 0; ///< index into Block::arrays
    Box source;         ///< in the stored array, relative to its first value, ghost layers included
    Box target;         ///< in the reader's array, relative to the start of the box that is read
    bool ghost = false; ///< from ghost layers, since no block owns it

    bool operator==(const Piece&) const = default;
};

/// Pieces that make up a box of a field. Every index of the box is in exactly one piece's target or
/// in exactly one of the missing boxes.
struct ReadPlan {
    Box box;                     ///< global indices of the field
    std::vector<Piece> pieces;   ///< sorted by rank, then by block
    std::vector<Box> missing;    ///< in no block; global indices
    std::size_t comparisons = 0; ///< of boxes: the cost of planning
};

} // namespace uzushio::staging
