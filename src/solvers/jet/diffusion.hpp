#pragma once

#include "solvers/jet/convection.hpp"

namespace uzushio::jet {

/// Viscous stresses, heat conduction and diffusion of species through sides; second order.
/// Gradients at a side are those of the coordinate transformation: the difference across the side,
/// and means of central differences along it.
class Diffusion {
  public:
    explicit Diffusion(const JetParameters& flow) : flow_(flow) {}

    /// Return whether a flow has such fluxes.
    [[nodiscard]] static bool is_needed(const JetParameters& flow) {
        return flow.gas.is_viscous() || flow.subgrid != Subgrid::none;
    }

    /// Add the fluxes of all conserved variables, as `Convection::set` sets its own.
    void add(const FlowBlock& block, const SideRow& row, double* const* fluxes);

  private:
    void set_transforms(const FlowBlock& block, const SideRow& row);
    void add_eddies(const FlowBlock& block, const SideRow& row);

    const JetParameters& flow_;
    RowBuffers rows_;
};

/// Set viscosity and conductivity of a gas with `transport` in a box of cells.
void set_transport(const Gas& gas, const FlowBlock& block, const Box<3>& cells,
                   const View<double>& transport);

/// Return the largest diffusivity of momentum, heat and species in a cell.
[[nodiscard]] double largest_diffusivity(const Gas& gas, const FlowBlock& block,
                                         const Index<3>& cell);

/// Return the eddy viscosity over the density, for a velocity gradient `g[3 * i + j]` (the
/// derivative of component i along axis j), in a cell of volume `volume`. Vreman 2004, WALE (Nicoud
/// & Ducros 1999), sigma (Nicoud et al. 2011).
[[nodiscard]] double eddy_viscosity(Subgrid model, const double (&g)[9], double volume);

/// Return that of a cell, whose neighbours beyond sides have valid values.
[[nodiscard]] double eddy_viscosity(Subgrid model, const FlowBlock& block, std::size_t axes,
                                    const Index<3>& cell);

} // namespace uzushio::jet
