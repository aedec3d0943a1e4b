#pragma once

#include <mpi.h>

#include <array>
#include <vector>

#include "domain/field.hpp"
#include "geometry/cut_links.hpp"

namespace uzushio::geometry {

/// Find the regions of the fluid in a rectilinear mesh of one zone: cells that paths along uncut
/// links join to each other and to the cell of a seed (collective). Return their number.
///
/// `links`: for each block of this rank and each axis, between the centres of its cells and ghosts.
/// `numbers`: the result, with at least one ghost layer. Regions are numbered from 0 in the order
/// of their first cells (k, j, i), the same on any number of ranks; solid cells have -1. Ghosts
/// across faces have the values of the cells that they copy; ghosts beyond a boundary are solid.
///
/// Without seeds, paths begin at the cells at the boundaries of the mesh whose centres are outside
/// the bounds of all bodies; in a mesh without boundaries at all such cells. Throws
/// `std::invalid_argument` on all ranks if a seed is outside the mesh, or if no cell is fluid.
[[nodiscard]] int find_regions(MPI_Comm comm, const domain::Decomposition& decomposition,
                               const std::vector<std::array<CutLinks, 3>>& links,
                               const std::vector<std::shared_ptr<const Surface>>& bodies,
                               const std::vector<domain::Vector>& seeds,
                               domain::Field<double>& numbers);

} // namespace uzushio::geometry
