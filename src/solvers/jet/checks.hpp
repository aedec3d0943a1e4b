#pragma once

#include <string>

#include "domain/decomposition.hpp"
#include "domain/geometry.hpp"
#include "solvers/jet/boundary_states.hpp"

namespace uzushio::jet {

/// Return whether no value of a state is impossible. Fractions are negative by rounding at most.
[[nodiscard]] bool is_possible(const State& state);

/// Throw `std::invalid_argument`, which begins with `place`, if a state is impossible.
void check(const State& state, const Gas& gas, const std::string& place);

/// Throw `std::invalid_argument` if parameters contradict each other, or if a zone has a face
/// without and, on the other side of fewer than `ghosts` cells, one with connections: the ghosts
/// of its neighbours would lie beyond it.
void check(const JetParameters& flow, int ghosts);

/// Throw `std::invalid_argument` if a wall without slip moves along its normal, or if an inflow
/// points out of the mesh, at a side of this rank.
void check_boundaries(const JetParameters& flow, const domain::Decomposition& decomposition,
                      int rank, const domain::Geometry& geometry,
                      const std::vector<domain::SolverBlock>& blocks);

} // namespace uzushio::jet
