#pragma once

#include <cstddef>
#include <vector>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// Sets of indices kept as lists of boxes that do not overlap each other.
using BoxSet = std::vector<Box>;

/// Take `box` out of the set: each box that it cuts becomes at most six.
void subtract(BoxSet& set, const Box& box);

/// What of `region` no box of `covered` holds; these must not overlap each other. Adds the
/// comparisons of boxes it took to `comparisons`.
[[nodiscard]] BoxSet holes(const Box& region, const BoxSet& covered, std::size_t& comparisons);

/// Join boxes that make up a larger one, along one axis after the other.
void coalesce(BoxSet& set);

} // namespace uzushio::staging
