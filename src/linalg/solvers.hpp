#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "linalg/iterative_solver.hpp"

namespace uzushio::linalg {

/// Return the names of the solvers.
///
/// `fft`: direct; needs a constant coefficient and at most one stretched periodic axis.
/// `fft/partitioned`: the same without all-to-alls of whole planes along the third axis.
/// `multigrid`: V-cycles. `cg`, `pipelined_cg`, `bicgstab`: Krylov methods preconditioned by a
/// V-cycle; with `/diagonal` behind the name by the diagonal; `cg/fft` by the direct solver, for a
/// coefficient that is 0 or 1. `jacobi`, `sor`: relaxation, for comparison. `auto`: see
/// `make_automatic`.
/// OpenMP threads of a rank, as many as when a solver is made, share the planes of all of them; no
/// bit of a solution depends on their number.
[[nodiscard]] const std::vector<std::string_view>& solver_names();

/// Return a solver by its name (collective). `limits` are those of iterative solvers. `traffic` and
/// `sections` must outlive the solver; a solve adds its sections to the open one, with the bytes
/// that its passes move by theory. Throws `std::invalid_argument` for another name or if the solver
/// does not apply to the equation.
[[nodiscard]] std::unique_ptr<LinearSolver> make_solver(std::string_view name, MPI_Comm comm,
                                                        const Equation& equation,
                                                        const IterationLimits& limits,
                                                        parallel::Traffic& traffic,
                                                        parallel::SectionMonitor& sections);

} // namespace uzushio::linalg
