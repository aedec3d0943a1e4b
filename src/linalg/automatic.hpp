#pragma once

#include <memory>
#include <string_view>

#include "linalg/iterative_solver.hpp"

namespace uzushio::linalg {

/// Return the solver of an equation that is expected to be the fastest of those that apply
/// (collective): the direct one where its transforms are fast; else conjugate gradients,
/// preconditioned by the direct solver or by multigrid. The choice is by the iterations that each
/// takes for a right-hand side of random values, and so the same on any number of ranks. If a solve
/// does not converge, another solver that applies continues it.
[[nodiscard]] std::unique_ptr<LinearSolver> make_automatic(const SolverSetup& setup);

} // namespace uzushio::linalg
