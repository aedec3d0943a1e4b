#pragma once

#include <vector>

#include "compositing/compositing_group.hpp"

namespace uzushio::compositing {

/// Pixels of one layer of a stage: a message from another rank or an output of an earlier stage of
/// this rank.
struct Contribution {
    Range region;
    int rank = -1;                             ///< sender; -1: this rank
    int stage = -1;                            ///< stage of this rank
    int output = -1;                           ///< output of that stage
    ChannelWidth width = ChannelWidth::narrow; ///< maximum
};

/// Part of a stage's result.
struct StageOutput {
    Range region;
    int rank = -1; ///< destination; -1: this rank
};

/// Layers that are merged, front to back, when all their messages have arrived.
struct CompositingStage {
    Range region;
    ChannelWidth width = ChannelWidth::narrow;
    /// Each layer covers the region; none: this rank's own image.
    std::vector<std::vector<Contribution>> layers;
    std::vector<StageOutput> outputs; ///< none in the last stage of a rank that keeps the result
};

/// Stages of one rank for one picture, in order. Messages between two ranks are sent and received
/// in the same order.
struct CompositingSchedule {
    std::vector<CompositingStage> stages;
    bool result = false; ///< the last stage's region is this rank's part of the result
};

/// Return the schedule of `rank` in a tree of groups; empty for a rank that is not in the tree.
[[nodiscard]] CompositingSchedule make_schedule(const CompositingGroup& group, int rank);

} // namespace uzushio::compositing
