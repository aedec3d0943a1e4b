#pragma once

#include <vector>

#include "compositing/group.hpp"

namespace uzushio::compositing {

/// Pixels of one layer for a stage: a message from another rank, or what this rank has from an
/// earlier stage.
struct Contribution {
    Range region;
    int rank = -1;               ///< who sends it; -1: this rank
    int stage = -1;              ///< of this rank
    int piece = -1;              ///< and which of its results
    Width width = Width::narrow; ///< at most
};

/// A part of a stage's result.
struct Piece {
    Range region;
    int rank = -1; ///< to whom it goes; -1: it stays
};

/// Layers that become one, front to back, when all messages about them are here.
struct Stage {
    Range region;
    Width width = Width::narrow;
    /// Each covers the region; none: this rank's own image.
    std::vector<std::vector<Contribution>> layers;
    std::vector<Piece> pieces; ///< none in the last stage of a rank that keeps the result
};

/// What one rank does for one picture, in this order. Messages between two ranks are sent and
/// received in the same order.
struct Schedule {
    std::vector<Stage> stages;
    bool result = false; ///< the last stage's region is this rank's part of the result
};

/// The schedule of `rank` in a tree of groups. Empty for a rank that has no part in it.
[[nodiscard]] Schedule schedule(const Group& group, int rank);

} // namespace uzushio::compositing
