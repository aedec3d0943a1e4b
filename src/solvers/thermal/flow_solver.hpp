#pragma once

#include <optional>

#include "domain/block_solver.hpp"
#include "domain/grid.hpp"
#include "solvers/thermal/bodies.hpp"
#include "solvers/thermal/bounded_transport.hpp"
#include "solvers/thermal/momentum.hpp"
#include "solvers/thermal/parameters.hpp"
#include "solvers/thermal/projection.hpp"

namespace uzushio::thermal {

/// Solver of the incompressible Navier-Stokes equations with scalars in a box, on a staggered
/// rectilinear grid, second order. Time integration is explicit; the velocity is projected after
/// each stage (half-explicit Runge-Kutta).
///
/// Fields: `face_velocity`, evolved; the scalars, evolved; `pressure`, the mean over the last
/// stage, projected; `eddy_viscosity`, with a subgrid model, derived; `velocity` at cells, output.
class FlowSolver : public domain::BlockSolver {
  public:
    /// Throws `std::invalid_argument` if the parameters contradict each other.
    explicit FlowSolver(FlowParameters flow);

    /// Return the maximum magnitude of the divergence of the velocity (collective).
    [[nodiscard]] double max_divergence();
    /// Return the kinetic energy, the integral of half the square of the velocity over the box
    /// (collective).
    [[nodiscard]] double kinetic_energy();
    /// Return the mean diffusive flux of a scalar into the box through each face of the box that
    /// has a condition, in the order of the faces i-min, i-max, ...; 0 for others (collective).
    [[nodiscard]] std::array<double, 6> scalar_fluxes(std::size_t scalar);

    /// Return the forces of the flow on the bodies, over the density, in their order (collective).
    /// The pressure is that of the last stage: 0 before the first step.
    [[nodiscard]] std::vector<Vector> body_forces();

    /// Return the mean flux of a scalar from each body into the flow (collective).
    [[nodiscard]] std::vector<double> body_fluxes(std::size_t scalar);

    /// Return whether a cell of a block of this rank is fluid; after the set-up.
    [[nodiscard]] bool is_fluid(std::size_t block, const Index<3>& cell) const {
        return !bodies_ || bodies_->immersed().is_fluid(block, cell);
    }

  protected:
    [[nodiscard]] domain::SolverDeclaration declare() const override;
    void prepare_ranks() override;
    void initial(const domain::SolverBlock& block) override;
    void derive(const domain::SolverBlock& block, std::string_view field, double time) override;
    void before_rhs(double time) override;
    void rhs(const domain::SolverBlock& block, double time) override;
    void project(double time, double dt) override;
    [[nodiscard]] double stable_dt(const domain::SolverBlock& block) override;
    /// Add the divergence and the exchange of the pressure after each solve.
    void add_own(const domain::Decomposition& decomposition,
                 domain::SolverEstimate& estimate) const override;

  private:
    [[nodiscard]] FlowBlock block_of(const domain::SolverBlock& block) const;
    [[nodiscard]] std::vector<FlowBlock> flow_blocks();
    /// Set the ghosts of the eddy viscosity beyond boundaries, also diagonal ones.
    void fill_edges(const View<double>& eddies, const Box<3>& cells) const;
    /// Return the time within which what constraints lack in a state is made up for.
    [[nodiscard]] double time_scale() const;
    /// Change given initial fields: without divergence, and as conditions and bodies demand.
    void project_initial();
    void project_velocity(double dt);
    void set_normal_velocities();
    /// Set velocities at sides that two blocks share to those of the upper block (collective).
    void unify_shared_faces();
    void set_boundary_derivatives(const domain::SolverBlock& block, std::size_t a) const;

    FlowParameters flow_;
    domain::Grid grid_;
    std::optional<Bodies> bodies_;
    std::optional<Projection> projection_;
    std::optional<BoundedTransport> bounded_; ///< with scalars and `van_leer`
};

} // namespace uzushio::thermal
