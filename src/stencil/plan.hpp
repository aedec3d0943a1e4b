#pragma once

#include <cstdint>
#include <vector>

#include "stencil/area.hpp"
#include "stencil/rect.hpp"

namespace uzushio::stencil {

/// A block of steps, worked out once, as data: what a rank computes and sends, in which order. The
/// executor and the counters know only this.
///
/// Update u of a block (0 <= u < steps) makes level u + 1 from level u; level 0 is where the block
/// begins. Two buffers hold the levels, even ones in buffer 0 and odd ones in buffer 1, in place:
/// each point of a buffer keeps the last level of its parity that was computed there, so the
/// sloping side of a region stays readable until its neighbour has been computed.

/// What each update of a block computes in one go.
struct Region {
    std::vector<Area> updates;
};

/// A rectangle of one of the buffers.
struct Patch {
    int buffer = 0;
    Rect rect;
    bool passed_on = false; ///< an earlier stage of the exchange brings it; else it is sent as it
                            ///< is when the exchange begins
    bool operator==(const Patch&) const = default;
};

/// Patches on their way to or from a rank, one after the other.
struct Message {
    int rank = 0; ///< this rank itself, where a periodic direction has one tile
    int tag = 0;
    std::vector<Patch> patches;
};

/// Messages that are under way at the same time.
struct Stage {
    std::vector<Message> sends;
    std::vector<Message> receives;
};

/// Stages one after the other: a later one may pass on what an earlier one brought.
using Exchange = std::vector<Stage>;

/// An exchange that begins, a region that does not depend on it, and one that does.
struct Phase {
    Exchange exchange;
    Region meanwhile;
    Region after;
};

struct Plan {
    int steps = 0;
    std::vector<Phase> phases;
    Rect from;    ///< where level 0 is to be given
    Rect to;      ///< where the last level is known at the end
    Rect offered; ///< holds every point that is computed
    Rect owned;   ///< points computed in here are this rank's own
};

/// What a plan does, counted.
struct PlanCount {
    std::int64_t messages = 0; ///< to other ranks
    std::int64_t values = 0;   ///< in them
    std::int64_t points = 0;   ///< updates of a point, redundant ones among them
    std::int64_t redundant = 0;
};

/// Counts for the rank that `rank` is.
[[nodiscard]] PlanCount count(const Plan& plan, int rank);

[[nodiscard]] std::int64_t values(const Message& message);

} // namespace uzushio::stencil
