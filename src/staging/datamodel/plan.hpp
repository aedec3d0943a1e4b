#pragma once

#include <cstddef>
#include <vector>

#include "staging/datamodel/box.hpp"
#include "staging/datamodel/piece.hpp"

namespace uzushio::staging {

/// How a box of a field is put together. Every index of the box is in exactly one piece's target or
/// in exactly one of the missing boxes.
struct Plan {
    Box box;                     ///< what was asked for, in the field's global indices
    std::vector<Piece> pieces;   ///< sorted by rank, then by block
    std::vector<Box> missing;    ///< in no block; global indices
    std::size_t comparisons = 0; ///< of boxes: the work it took to plan
};

} // namespace uzushio::staging
