#pragma once

#include "domain/box.hpp"
#include "solvers/thermal/parameters.hpp"
#include "solvers/thermal/rows.hpp"

namespace uzushio::thermal {

/// Block of a staggered grid: velocity at faces, scalars at cells. Arrays have ghosts.
struct FlowBlock {
    std::array<View<const double>, 3> velocity;
    std::vector<View<const double>> scalars;
};

/// Set the time derivative of the velocity component along axis `a` at `faces` of a block, without
/// the pressure gradient: -div(u u) + div(nu grad u) + force + buoyancy.
void momentum_derivative(const FlowParameters& flow, const domain::Grid& grid,
                         const FlowBlock& block, std::size_t a, const Box<3>& faces,
                         const View<double>& derivative);

} // namespace uzushio::thermal
