#pragma once

#include "solvers/thermal/momentum.hpp"

namespace uzushio::thermal {

/// Set the time derivative of scalar `s` in the cells of a block: -div(u s) + div(kappa grad s).
void scalar_derivative(const FlowParameters& flow, const domain::Grid& grid, const FlowBlock& block,
                       std::size_t s, const Box<3>& cells, const View<double>& derivative);

} // namespace uzushio::thermal
