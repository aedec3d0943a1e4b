#pragma once

#include <memory>

#include "linalg/iterative_solver.hpp"

namespace uzushio::linalg {

/// Return the conjugate gradient method with a preconditioner that may change from one iteration
/// to the next (flexible: beta by Polak and Ribière). Source: Y. Notay, SIAM J. Sci. Comput. 22
/// (2000).
std::unique_ptr<LinearSolver> make_cg(const SolverSetup& setup,
                                      std::unique_ptr<Preconditioner> preconditioner);

/// Return the conjugate gradient method with one reduction per iteration, which runs while the
/// preconditioner and the operator are applied. Round-off grows more than in `make_cg`, so the
/// vectors of the recurrences are computed anew at times. Sources: P. Ghysels and W. Vanroose,
/// Parallel Comput. 40 (2014); S. Cools et al., SIAM J. Matrix Anal. Appl. 39 (2018).
std::unique_ptr<LinearSolver> make_pipelined_cg(const SolverSetup& setup,
                                                std::unique_ptr<Preconditioner> preconditioner);

/// Return the stabilised bi-conjugate gradient method, which needs no symmetric preconditioner.
/// Source: H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992).
std::unique_ptr<LinearSolver> make_bicgstab(const SolverSetup& setup,
                                            std::unique_ptr<Preconditioner> preconditioner);

} // namespace uzushio::linalg
