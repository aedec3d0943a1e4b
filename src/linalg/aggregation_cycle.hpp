#pragma once

#include <memory>

#include "linalg/iterative_solver.hpp"

namespace uzushio::linalg {

/// Return an algebraic multigrid cycle for cells that are coupled much more strongly along an axis
/// that differs from place to place, or on both sides of a blocked face. Each level joins about
/// four unknowns by their couplings, and so nothing across a blocked face (Y. Notay, Electron.
/// Trans. Numer. Anal. 37 (2010) 123). Coarse values are constant in an aggregate; two steps of a
/// Chebyshev iteration on each coarse level make up for that. Sweeps are Gauss-Seidel's among the
/// unknowns of a rank, in the reverse order after the correction: the cycle is linear, and
/// symmetric.
std::unique_ptr<Preconditioner> make_aggregation(const SolverSetup& setup);

} // namespace uzushio::linalg
