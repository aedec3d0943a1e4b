#pragma once

#include <mpi.h>

#include <array>
#include <vector>

#include "domain/field.hpp"
#include "geometry/cut_links.hpp"

namespace uzushio::geometry {

/// Regions of fluid cells that paths along uncut links join.
struct Regions {
    domain::Field<double> numbers; ///< of cells: from 0, or below 0 in solid ones
    int count = 0;
};

/// Return the regions of the fluid that `flood_fill` found, numbered in the order of their first
/// cells (k, j, i), the same on any number of ranks (collective). Arguments as in `flood_fill`.
[[nodiscard]] Regions find_regions(MPI_Comm comm, const domain::Decomposition& decomposition,
                                   int rank, const std::vector<std::array<CutLinks, 3>>& links,
                                   const domain::Field<double>& phase);

} // namespace uzushio::geometry
