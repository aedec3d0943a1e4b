#pragma once

#include <mpi.h>

#include "linalg/equation.hpp"

namespace uzushio::linalg {

/// Return whether the geometric multigrid cycle, which joins cells along the same axes everywhere,
/// is slower for an equation than the algebraic one (collective): the axis of strong coupling
/// differs from place to place, or faces are blocked between cells that are coupled strongly.
[[nodiscard]] bool is_anisotropic(MPI_Comm comm, const Equation& equation);

} // namespace uzushio::linalg
