#pragma once

#include <functional>
#include <optional>

#include "solvers/jet/convection.hpp"

namespace uzushio::jet {

/// Gas at a distance from a wall; the speed is along the wall and relative to it.
struct WallLayer {
    double distance = 0, speed = 0, density = 0, temperature = 0;
    double heat_capacity = 0; ///< at constant pressure, per mass
};

/// Shear stress, heat that leaves the gas, and temperature of a wall.
struct WallFluxes {
    double stress = 0, heat = 0, temperature = 0;
};

/// Return the fluxes of a turbulent layer in equilibrium. The velocity, transformed by van Driest's
/// integral of sqrt(rho / rho_w), is Reichardt's law in units of the wall; the temperature is a
/// parabola of the velocity (Walz), with the recovery factor 0.9; the heat is that of the slope of
/// this parabola over `prandtl`. Without a wall temperature the wall is adiabatic. `viscosity` is
/// that of a temperature.
[[nodiscard]] WallFluxes wall_fluxes(const WallLayer& layer, std::optional<double> temperature,
                                     double prandtl,
                                     const std::function<double(double)>& viscosity);

/// Add the fluxes of walls with this model to the sides of a row that lie in a patch.
void add_wall_model(const JetParameters& flow, const PatchCondition& condition,
                    const domain::Face& face, const FlowBlock& block,
                    const View<const double>& centres, const SideRow& row, double* const* fluxes);

} // namespace uzushio::jet
