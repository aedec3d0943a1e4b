#pragma once

#include <array>

#include "domain/grid.hpp"
#include "solvers/thermal/momentum.hpp"
#include "solvers/thermal/parameters.hpp"

namespace uzushio::thermal {

/// Gradient of a velocity: `[a][b]` is that of component `a` along axis `b`.
using Gradient = std::array<std::array<double, 3>, 3>;

/// Return the constant of a model: the given one, or the default, 0.17 (Smagorinsky), 0.325 (WALE)
/// or 0.07 (Vreman).
[[nodiscard]] double constant_of(const SubgridModel& model);

/// Return the eddy viscosity for a gradient in a cell of these widths, 0 for a gradient of 0. The
/// filter width is the root of their product, in Vreman's model the width along each axis. In two
/// dimensions (`dimension`) the third component and axis are left out.
///
/// Sources: J. Smagorinsky, Mon. Weather Rev. 91 (1963) 99; F. Nicoud, F. Ducros, Flow Turbul.
/// Combust. 62 (1999) 183; A. W. Vreman, Phys. Fluids 16 (2004) 3670.
[[nodiscard]] double eddy_viscosity(const SubgridModel& model, const Gradient& gradient,
                                    const Vector& widths, int dimension);

/// Set the eddy viscosity at the centres of `cells`, from velocities with valid ghosts.
void set_eddy_viscosity(const FlowParameters& flow, const domain::Grid& grid,
                        const FlowBlock& block, const Box<3>& cells, const View<double>& viscosity);

} // namespace uzushio::thermal
