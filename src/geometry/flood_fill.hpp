#pragma once

#include <mpi.h>

#include <array>
#include <vector>

#include "domain/field.hpp"
#include "geometry/cut_links.hpp"

namespace uzushio::geometry {

/// Values of `flood_fill`.
inline constexpr double fluid = 1;
inline constexpr double solid = 0;

/// Mark the cells of a rectilinear mesh of one zone as `fluid` or `solid` (collective). A cell is
/// fluid if a path along uncut links joins it to the cell of a seed. Ghosts across faces have the
/// values of the cells that they copy; ghosts beyond a boundary are solid.
///
/// `links`: for each block of this rank and each axis, between the centres of its cells and ghosts.
/// `phase`: the result, with at least one ghost layer.
///
/// Without seeds, paths begin at the cells at the boundaries of the mesh whose centres are outside
/// the bounds of all bodies; in a mesh without boundaries at all such cells. Throws
/// `std::invalid_argument` on all ranks if a seed is outside the mesh, or if no cell is fluid.
void flood_fill(MPI_Comm comm, const domain::Decomposition& decomposition,
                const std::vector<std::array<CutLinks, 3>>& links,
                const std::vector<std::shared_ptr<const Surface>>& bodies,
                const std::vector<domain::Vector>& seeds, domain::Field<double>& phase);

} // namespace uzushio::geometry
