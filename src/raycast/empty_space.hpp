#pragma once

#include "raycast/packet.hpp"
#include "raycast/plan.hpp"

namespace uzushio::raycast {

/// For places in a block, how many bricks away the nearest one is that may show something.
Ints brick_distance(const Part& part, const Places& at);

/// The last segment before a ray leaves the bricks that are nearer than `distance` to its own.
Ints free_until(const Part& part, const Packet& packet, float step, const Places& at,
                Ints distance);

} // namespace uzushio::raycast
