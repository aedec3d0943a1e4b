#pragma once

#include <array>
#include <cstdint>

#include "domain/index.hpp"

namespace uzushio::domain {

/// Number of parts along each axis.
using PartCounts = std::array<int, 3>;

/// Return the cell sides between the parts of a box that is cut into `counts[a]` parts per axis.
[[nodiscard]] std::int64_t surface_between(const Index<3>& cells, const PartCounts& counts,
                                           const std::array<bool, 3>& periodic);

/// Return the factorisation of `parts` with the minimum surface between parts; among equal ones the
/// best balanced one, then that with the shortest edges, then that with the fewest parts along i,
/// then along j. All zero if every factorisation has parts without cells.
[[nodiscard]] PartCounts min_surface_counts(const Index<3>& cells, int parts,
                                            const std::array<bool, 3>& periodic = {});

} // namespace uzushio::domain
