#pragma once

#include <span>
#include <string>
#include <vector>

#include "compositing/group.hpp"
#include "compositing/machine.hpp"

namespace uzushio::compositing {

/// Seconds that a tree of groups takes for images with every pixel active: equations 2 to 5 of the
/// performance model, evaluated on what the algorithm really sends. A group takes as long as the
/// slowest of its children (equation 5), and then as long as its busiest rank needs to send,
/// receive and blend (the sums of equations 3 and 4); gathering is a group like any other.
[[nodiscard]] double predict(const Group& group, const Shape& shape, const Machine& machine);

/// Seconds for some ranks of one node to composite through shared memory, while other nodes do the
/// same: when all are there, their images are read and one is written, at the rate of all of them.
[[nodiscard]] double predict_node(int ranks, const Shape& shape, Width to, const Machine& machine);

/// Algorithms by messages that `auto` chooses from for so many ranks.
[[nodiscard]] std::vector<Method> candidates(int ranks);

} // namespace uzushio::compositing
