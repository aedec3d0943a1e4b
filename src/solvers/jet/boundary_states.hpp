#pragma once

#include "domain/block_solver.hpp"
#include "solvers/jet/variables.hpp"

namespace uzushio::jet {

/// Set the ghosts beyond a patch. Cells beyond walls are mirror images; others have one state for
/// each side in the patch, from the condition and the cell inside.
void fill_ghosts(const Gas& gas, const PatchCondition& condition, const domain::SolverPatch& patch,
                 const View<double>& conserved, int layers);

/// Return the state of a condition at a position.
[[nodiscard]] State state_at(const PatchCondition& condition, const Vector& position);

} // namespace uzushio::jet
