#pragma once

#include <array>
#include <cstdint>

#include "domain/index.hpp"

namespace uzushio::domain {

/// Number of parts along each axis.
using PartCounts = std::array<int, 3>;

/// Cell sides between parts if a box of cells is cut into `counts[a]` parts along each axis.
[[nodiscard]] std::int64_t surface_between(const Index<3>& cells, const PartCounts& counts,
                                           const std::array<bool, 3>& periodic);

/// The factorisation of `parts` with the least surface between parts; of several the best balanced
/// one, then that with the shortest edges, then the one with the fewest parts along i, then along
/// j. All zero if no factorisation leaves each part a cell.
[[nodiscard]] PartCounts least_surface(const Index<3>& cells, int parts,
                                       const std::array<bool, 3>& periodic = {});

} // namespace uzushio::domain
