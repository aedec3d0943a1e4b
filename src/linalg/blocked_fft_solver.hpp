#pragma once

#include <mpi.h>

#include <memory>

#include "linalg/iterative_solver.hpp"

namespace uzushio::linalg {

/// Return why the solver below does not apply to an equation; empty if it does (collective). Its
/// coefficient must be 0 or 1 on each face.
[[nodiscard]] std::string why_no_blocked_fft(MPI_Comm comm, const Equation& equation);

/// Return the time that the solver below, which applies, is expected to need for some iterations
/// (collective), in the unit in which a cycle of `cg` takes 19.
[[nodiscard]] double blocked_fft_cost(MPI_Comm comm, const Equation& equation, double iterations);

/// Return conjugate gradients preconditioned by the direct solver of coefficient 1, for equations
/// whose coefficient is 0 on some faces, such as those of bodies.
///
/// With B the operator of coefficient 1 and D = B - A the fluxes through blocked faces, the
/// solution is x = B^-1 (f + g): g is not 0 only in cells beside blocked faces. So are the vectors
/// of the iteration, which is computed on the rows and planes that contain such cells: a direct
/// solve there for each iteration, and two of the whole mesh. For bodies that are not thin the
/// eigenvalues of B^-1 A lie between a constant and 1 on any grid. The values of x that are passed
/// are not used.
///
/// Source: B. L. Buzbee, F. W. Dorr, J. A. George, G. H. Golub, SIAM J. Numer. Anal. 8 (1971) 722;
/// W. Proskurowski, O. Widlund, Math. Comp. 30 (1976) 433. Throws `std::invalid_argument` if it
/// does not apply (collective).
[[nodiscard]] std::unique_ptr<LinearSolver> make_blocked_fft_solver(const SolverSetup& setup);

} // namespace uzushio::linalg
