#pragma once

#include <memory>

#include "linalg/iterative_solver.hpp"

namespace uzushio::linalg {

/// Return the iteration x += M (f - A x) with a preconditioner M, for example a V-cycle.
std::unique_ptr<LinearSolver> make_correction(MPI_Comm comm, const Equation& equation,
                                              const IterationLimits& limits,
                                              parallel::Traffic& traffic,
                                              parallel::SectionMonitor& sections,
                                              std::unique_ptr<Preconditioner> preconditioner);

/// Return Jacobi's method with damping `omega`, 0.9 times that for a singular equation, for
/// comparison with the other solvers.
std::unique_ptr<LinearSolver> make_jacobi(MPI_Comm comm, const Equation& equation,
                                          const IterationLimits& limits, parallel::Traffic& traffic,
                                          parallel::SectionMonitor& sections, double omega = 1.0);

/// Return red-black successive over-relaxation, for comparison with the other solvers. `omega`
/// between 0 and 2; 0: the best one for Poisson's equation with as many cells as the longest axis.
std::unique_ptr<LinearSolver> make_sor(MPI_Comm comm, const Equation& equation,
                                       const IterationLimits& limits, parallel::Traffic& traffic,
                                       parallel::SectionMonitor& sections, double omega = 0.0);

/// Return the preconditioner that divides by the diagonal of A.
std::unique_ptr<Preconditioner> make_diagonal(MPI_Comm comm, const Equation& equation,
                                              parallel::Traffic& traffic,
                                              parallel::SectionMonitor& sections);

} // namespace uzushio::linalg
