#pragma once

#include <mpi.h>

#include <array>
#include <optional>
#include <vector>

#include "domain/boundaries.hpp"
#include "domain/halo_exchange.hpp"
#include "domain/time_integrator.hpp"
#include "solvers/thermal/bodies.hpp"
#include "solvers/thermal/bounded_surfaces.hpp"
#include "solvers/thermal/momentum.hpp"

namespace uzushio::thermal {

/// Bounds on the scalars after a step, by flux-corrected transport (Zalesak 1979): the change of a
/// step is that of upwind fluxes, which keep bounds, and the part of the difference to the fluxes
/// of the step that keeps each cell between the least and the greatest value of its neighbourhood,
/// at the begin of the step or after the upwind fluxes. The amount that crosses a face is the same
/// for both cells. The upwind solution takes one step of Euler's method in each stage, of equal
/// length.
class BoundedTransport {
  public:
    /// `bodies` is null without them; `conditions` are the boundary conditions of the scalars.
    /// References must outlive this (collective).
    BoundedTransport(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
                     const FlowParameters& flow, const domain::Grid& grid, const Bodies* bodies,
                     const std::vector<domain::Conditions>& conditions, parallel::Traffic& traffic);

    /// Add the fluxes of a stage, from fields with valid ghosts at `time`, of a step of length
    /// `dt`. The surfaces of bodies are prepared; `eddies`: eddy viscosity of the blocks, empty
    /// without a subgrid model (collective).
    void add_stage(const std::vector<FlowBlock>& blocks,
                   const std::vector<View<const double>>& eddies, const domain::StageInfo& stage,
                   double time, double dt);

    /// Set scalar `s` in the fluid, and in conductors beside it, after the last stage (collective).
    void finish(std::size_t s, domain::Field<double>& scalar);

    /// Return the specifications of the fields of a scalar, and of those for all together.
    [[nodiscard]] static std::vector<domain::FieldSpec> own_specs();
    [[nodiscard]] static std::vector<domain::FieldSpec> shared_specs();

  private:
    using Field = domain::Field<double>;
    struct OfScalar {
        Field start, upwind; ///< values at the begin of the step, and by upwind fluxes
        Field excess;        ///< amounts through faces by all fluxes less the upwind ones
        domain::Boundaries boundaries;
    };
    void begin(std::size_t b, const View<const double>& scalar, OfScalar& own);
    void exchange_upwind(double time);
    template <std::size_t A>
    void add_fluxes(const FlowBlock& block, std::size_t b, std::size_t s,
                    const View<const double>* eddies, double all, double upwind);
    void advance_upwind(std::size_t b, std::size_t s, double upwind);
    void add_sources(std::size_t b, std::size_t s, double time, double length);
    void set_boundary_values(const View<double>& values, const Box<3>& cells) const;
    void set_shares(std::size_t b, std::size_t s);
    void add_shares(std::size_t b, OfScalar& own, const View<double>& scalar);
    [[nodiscard]] double open(std::size_t b, std::size_t a, const Index<3>& face) const {
        return bodies_ == nullptr || bodies_->immersed().is_open(b, a, face) ? 1 : 0;
    }
    [[nodiscard]] bool is_fluid(std::size_t b, const Index<3>& cell) const {
        return bodies_ == nullptr || bodies_->immersed().is_fluid(b, cell);
    }
    [[nodiscard]] bool at_boundary(std::size_t a, std::int64_t face) const {
        return grid_[a].is_boundary(face);
    }

    const FlowParameters& flow_;
    const domain::Grid& grid_;
    const Bodies* bodies_;
    std::size_t dimension_;
    std::vector<OfScalar> scalars_;
    Field flux_;   ///< through faces in a stage
    Field source_; ///< in a stage
    Field
        shares_; ///< of the amounts that increase and decrease a cell, which are within its bounds
    std::optional<domain::HaloExchange<double>> upwind_halo_, shares_halo_;
    std::optional<BoundedSurfaces> surfaces_;
};

} // namespace uzushio::thermal
