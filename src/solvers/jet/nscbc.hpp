#pragma once

#include <functional>

#include "domain/block_solver.hpp"
#include "solvers/jet/convection.hpp"

namespace uzushio::jet {

/// Change the derivatives of the cells inside a patch by Navier-Stokes characteristic boundary
/// conditions. States beyond the patch are extrapolated, so that the derivatives contain all waves
/// by one-sided differences; those that enter are replaced: acoustic ones by a relaxation to the
/// pressure of the condition's state (outflow) or its normal velocity (inflow), and, where the flow
/// enters, the others by a relaxation to its tangential velocity, temperature and mass fractions
/// (Poinsot & Lele 1992; transverse terms of Yoo & Im 2007 and Lodato, Domingo & Vervisch 2008).
/// `add(component, change)` receives the change of the integral over each cell.
void set_characteristic_rates(const Gas& gas, const PatchCondition& condition,
                              const domain::SolverPatch& patch, const FlowBlock& flow,
                              std::size_t axes, bool is_upwind, const View<double>& derivative,
                              const std::function<void(int, double)>& add);

} // namespace uzushio::jet
