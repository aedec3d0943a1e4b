#pragma once

#include "domain/grid.hpp"
#include "solvers/thermal/momentum.hpp"
#include "solvers/thermal/parameters.hpp"

namespace uzushio::thermal {

/// Add the divergence of the subgrid stress, 2 (eddy viscosity) (rate of strain), to the derivative
/// of the component along axis `a` at `faces`. The eddy viscosity has valid ghosts, also diagonal
/// ones.
void add_subgrid_stress(const FlowParameters& flow, const domain::Grid& grid,
                        const FlowBlock& block, const View<const double>& viscosity, std::size_t a,
                        const Box<3>& faces, const View<double>& derivative);

/// Add the diffusion of a scalar by the eddy viscosity through faces along axis `a`, per area.
void add_subgrid_flux(const FlowParameters& flow, const domain::Grid& grid,
                      const View<const double>& scalar, const View<const double>& viscosity,
                      std::size_t a, const Box<3>& faces, const View<double>& fluxes);

/// Add diffusion of scalar `s` by the eddy viscosity over the turbulent Prandtl number.
void add_subgrid_diffusion(const FlowParameters& flow, const domain::Grid& grid,
                           const FlowBlock& block, const View<const double>& viscosity,
                           std::size_t s, const Box<3>& cells, const View<double>& derivative);

} // namespace uzushio::thermal
