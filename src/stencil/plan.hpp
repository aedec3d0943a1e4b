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
    Rect owned;    ///< points computed in here are this rank's own
    int moved = 0; ///< points by which all tiles have moved left and down when it begins
    int moves = 0; ///< and by which they move in it; sides at an edge stay
};

/// What a rank sends to others.
struct Sent {
    std::int64_t messages = 0;
    std::int64_t values = 0; ///< in them
};

/// Updates of points.
struct PlanCount {
    std::int64_t points = 0; ///< redundant ones among them
    std::int64_t redundant = 0;
};

[[nodiscard]] Sent count(const Exchange& exchange, int rank);
[[nodiscard]] PlanCount count(const Plan& plan);

/// Holds every point that is computed.
[[nodiscard]] Rect offered(const Plan& plan);

[[nodiscard]] std::int64_t values(const Message& message);

} // namespace uzushio::stencil
