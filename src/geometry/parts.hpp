#pragma once

#include <mpi.h>

#include <functional>
#include <vector>

#include "domain/field.hpp"

namespace uzushio::geometry {

/// Function that returns whether a cell of a block of this rank is joined to its neighbour along an
/// axis, which is `step` (-1 or 1) cells away, in the block or in its ghosts.
using Joined =
    std::function<bool(std::size_t block, const domain::Index<3>& at, std::size_t axis, int step)>;

/// Find the connected parts of a mesh of one zone: set each cell, and its ghosts across faces, to
/// the index in the mesh (k, j, i) of the first cell that paths join to it; ghosts beyond a
/// boundary to -1 (collective). `labels`: a cell field of one component with at least one ghost
/// layer.
void label_parts(MPI_Comm comm, const domain::Decomposition& decomposition, const Joined& joined,
                 domain::Field<double>& labels);

/// Return all values of all ranks, ascending, each once (collective).
[[nodiscard]] std::vector<double> distinct_values(MPI_Comm comm, const std::vector<double>& own);

} // namespace uzushio::geometry
