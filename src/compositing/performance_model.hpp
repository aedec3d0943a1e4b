#pragma once

#include <vector>

#include "compositing/compositing_group.hpp"
#include "compositing/machine_rates.hpp"

namespace uzushio::compositing {

/// Return the seconds that a tree of groups takes for images with every pixel active: equations 2
/// to 5 of the performance model, for the messages of the algorithm. A group takes the time of its
/// slowest child (equation 5) and then the time that its busiest rank needs to send, receive and
/// blend (the sums of equations 3 and 4). Gathering is a group like any other.
[[nodiscard]] double predict(const CompositingGroup& group, const ImageShape& shape,
                             const MachineRates& machine);

/// Return the seconds that the ranks of a node take to composite through shared memory, while other
/// nodes do the same: a barrier, then their images are read and one is written, at the blending
/// rate of all of them.
[[nodiscard]] double predict_node(int ranks, const ImageShape& shape, ChannelWidth to,
                                  const MachineRates& machine);

/// Return the message-based algorithms that `auto` chooses from for a number of ranks.
[[nodiscard]] std::vector<AlgorithmSpec> candidate_algorithms(int ranks);

} // namespace uzushio::compositing
