#pragma once

#include <memory>

#include "linalg/iterative_solver.hpp"

namespace uzushio::linalg {

/// Return the iteration x += M (f - A x) with a preconditioner M, for example a V-cycle.
std::unique_ptr<LinearSolver> make_correction(const SolverSetup& setup,
                                              std::unique_ptr<Preconditioner> preconditioner);

/// Return Jacobi's method, damped by 0.9 for a singular equation, for comparison with the other
/// solvers.
std::unique_ptr<LinearSolver> make_jacobi(const SolverSetup& setup);

/// Return red-black successive over-relaxation, for comparison with the other solvers, with the
/// best factor for Poisson's equation with as many cells as the longest axis.
std::unique_ptr<LinearSolver> make_sor(const SolverSetup& setup);

/// Return the preconditioner that divides by the diagonal of A.
std::unique_ptr<Preconditioner> make_diagonal(const SolverSetup& setup);

} // namespace uzushio::linalg
