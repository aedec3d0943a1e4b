#pragma once

#include <array>
#include <cstdint>

#include "domain/box.hpp"

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

/// Return part `number`, i fastest, of a box that is cut into `counts[a]` parts along each axis,
/// after multiples of `units[a]` cells. Parts differ by at most one unit, and may be empty.
[[nodiscard]] Box<3> part_box(const Box<3>& all, const PartCounts& counts, int number,
                              const Index<3>& units = {1, 1, 1});

} // namespace uzushio::domain
