#pragma once

#include "domain/ghost_fill.hpp"
#include "domain/grid.hpp"
#include "solvers/thermal/parameters.hpp"

namespace uzushio::thermal {

/// Return the function that fills the ghosts of the velocity beyond a face with a condition.
[[nodiscard]] domain::GhostFill velocity_ghosts(const FaceCondition& condition);

/// Return the function that fills the ghosts of a scalar with a diffusivity beyond a face with a
/// condition. `axis`: the lengths along the normal.
[[nodiscard]] domain::GhostFill scalar_ghosts(const FaceCondition& condition,
                                              const ScalarCondition& scalar, double diffusivity,
                                              const domain::GridAxis& axis);

/// Return the function that fills the ghosts of the eddy viscosity, which is 0 at walls.
[[nodiscard]] domain::GhostFill eddy_ghosts(const FaceCondition& condition);

} // namespace uzushio::thermal
