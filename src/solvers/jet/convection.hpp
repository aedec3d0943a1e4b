#pragma once

#include "solvers/jet/row_buffers.hpp"
#include "solvers/jet/variables.hpp"

namespace uzushio::jet {

/// Flow on one block, with ghosts.
struct FlowBlock {
    View<const double> conserved, primitive;
    View<const double> sensor; ///< share of the upwind flux, 0 to 1, with one layer of ghosts
    View<const double> areas[3];
    View<const double> volumes;
    View<const double> transport{}; ///< viscosity and conductivity, with one layer of ghosts
};

/// Sides of cells in a row along i, normal to an axis: side n lies between the cells n - stride and
/// n of a row of values that begins at `first`.
struct SideRow {
    std::size_t axis;
    Index<3> first;
    std::int64_t size;
};

/// Convective fluxes through sides.
class Convection {
  public:
    explicit Convection(const JetParameters& flow) : flow_(flow) {}

    /// Number of ghost layers that a scheme reads.
    [[nodiscard]] static int ghosts(const JetParameters& flow);

    /// Set the fluxes of all conserved variables; `fluxes[c][n]` is that of component c at side n.
    void set(const FlowBlock& block, const SideRow& row, double* const* fluxes);

    /// Set those of the scheme `keep`. Between mirror images in a wall they are the pressure alone.
    void set_keep(const FlowBlock& block, const SideRow& row, double* const* fluxes);

  private:
    /// Set the energy that fluxes of species carry, besides that of rho c_v T, with polynomials.
    void set_carried_energy(const FlowBlock& block, const SideRow& row, double* const* fluxes,
                            double* carried);
    void set_upwind(const FlowBlock& block, const SideRow& row, double* const* fluxes);

    const JetParameters& flow_;
    RowBuffers keep_, upwind_;
};

/// Set the sensor of the hybrid scheme in a box of cells: 1 at shocks, where the flow is compressed
/// more than it rotates (Ducros et al. 1999) and the pressure bends, and at jumps of density or
/// species; 0 in smooth flow.
void set_sensor(const JetParameters& flow, const FlowBlock& block, const Box<3>& cells,
                const View<double>& sensor);

} // namespace uzushio::jet
