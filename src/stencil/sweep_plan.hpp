#pragma once

#include <cstdint>
#include <vector>

#include "stencil/area.hpp"
#include "stencil/rect.hpp"

namespace uzushio::stencil {

// Plan of a block of steps as data: computation and communication of a rank, in order. The executor
// and the counters use nothing else.
//
// Update u of a block (0 <= u < steps) computes level u + 1 from level u; level 0 is the state at
// the beginning of the block. Two buffers store the levels in place, even ones in buffer 0 and odd
// ones in buffer 1: each point of a buffer keeps the last level of its parity that was computed
// there, so the slope of a region remains readable until the neighbouring region is computed.

/// Areas that the updates of a block compute without communication between them.
struct Region {
    std::vector<Area> updates;
};

/// Rectangle of one of the buffers.
struct BufferRect {
    int buffer = 0;
    Rect rect;
    bool forwarded = false; ///< received in an earlier stage of the exchange; else its values are
                            ///< copied when the exchange begins
    bool operator==(const BufferRect&) const = default;
};

/// Message of the values of some rectangles, in their order, to or from a rank.
struct MessagePlan {
    int rank = 0; ///< this rank itself if a periodic axis has one tile
    int tag = 0;
    std::vector<BufferRect> rects;
};

/// Messages that are in flight at the same time.
struct ExchangeStage {
    std::vector<MessagePlan> sends;
    std::vector<MessagePlan> receives;
};

/// Consecutive stages; a later one may forward values that an earlier one received.
using ExchangePlan = std::vector<ExchangeStage>;

/// Exchange, a region that is independent of it, and a region that depends on it.
struct SweepPhase {
    ExchangePlan exchange;
    Region meanwhile;
    Region after;
};

/// Phases of a block, in order.
struct SweepPlan {
    int steps = 0;
    std::vector<SweepPhase> phases;
    Rect owned;    ///< points updated within it are this rank's own
    int moved = 0; ///< shift of all tiles to the left and down at the beginning, in points
    int moves = 0; ///< change of that shift in the block; sides at an edge of the domain stay
};

/// Messages to other ranks.
struct MessageCount {
    std::int64_t messages = 0;
    std::int64_t values = 0; ///< in all messages
};

/// Updates of points.
struct UpdateCount {
    std::int64_t points = 0; ///< including redundant ones
    std::int64_t redundant = 0;
};

/// Count the messages that `rank` sends to others.
[[nodiscard]] MessageCount count(const ExchangePlan& exchange, int rank);
[[nodiscard]] UpdateCount count(const SweepPlan& plan);

/// Return the bounding rectangle of all updated points.
[[nodiscard]] Rect update_bounds(const SweepPlan& plan);

/// Return the number of values in a message.
[[nodiscard]] std::int64_t values(const MessagePlan& message);

} // namespace uzushio::stencil
