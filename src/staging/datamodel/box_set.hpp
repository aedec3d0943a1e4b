#pragma once

#include <cstddef>
#include <vector>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// Set of indices: a list of disjoint boxes.
using BoxSet = std::vector<Box>;

/// Remove `box` from the set. Each box that it cuts becomes at most six.
void subtract(BoxSet& set, const Box& box);

/// Return the part of `region` that is in no box of `covered`, which must be disjoint. Adds the
/// number of comparisons of boxes to `comparisons`.
[[nodiscard]] BoxSet holes(const Box& region, const BoxSet& covered, std::size_t& comparisons);

/// Merge adjacent boxes into larger ones, axis by axis.
void coalesce(BoxSet& set);

} // namespace uzushio::staging
