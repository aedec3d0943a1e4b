#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "domain/block_solver.hpp"
#include "domain/flux_form.hpp"
#include "solvers/jet/diffusion.hpp"

namespace uzushio::jet {

/// Solver of the compressible Navier-Stokes equations of gas mixtures on multiblock curvilinear
/// grids: finite volumes, second order, explicit.
///
/// Fields: `conserved`, evolved: partial densities, momentum, total energy per volume. Outputs:
/// `density`, `velocity`, `pressure`, `temperature`, `mach`, and the mass fraction `Y_<name>` of
/// each species of a mixture.
class JetSolver : public domain::BlockSolver {
  public:
    /// Throws `std::invalid_argument` if the parameters contradict each other.
    explicit JetSolver(JetParameters flow);

    /// Set the state of the cells of a block of this rank: `values[c]` are those of mass fractions,
    /// velocity, pressure and temperature, in the order of the block's owned cells, i fastest.
    /// Throws `std::invalid_argument` for a state that cannot be, with its cell.
    void set_states(std::size_t block, std::span<const double* const> values);

    /// Return place and state of the first cell of this rank whose density or pressure is not
    /// positive; empty if there is none.
    [[nodiscard]] std::string impossible_state() const;

    /// Return the smallest stable step of this rank's cells, with place and state (collective).
    [[nodiscard]] std::pair<double, std::string> limiting_cell();

    /// Return the flux of each conserved variable out of the mesh through each boundary condition,
    /// in the last step: the mean over its stages, by which the integrals change (collective).
    [[nodiscard]] std::map<std::string, std::vector<double>> outflows();
    /// Return the integrals of the conserved variables, of kinetic energy, and of the entropy of
    /// one calorically perfect gas, rho log(p / rho^gamma) / (gamma - 1); 0 for others
    /// (collective).
    [[nodiscard]] std::vector<double> integrals();

  protected:
    [[nodiscard]] domain::SolverDeclaration declare() const override;
    void prepare_ranks() override;
    void prepare(const domain::SolverBlock& block) override;
    void initial(const domain::SolverBlock& block) override;
    void fill(const domain::SolverPatch& patch, double time) override;
    void interior(const domain::SolverBlock& block, double time) override;
    void before_rhs(double time) override;
    void rhs(const domain::SolverBlock& block, double time) override;
    void after_rhs(double time) override;
    void correct(const domain::SolverPatch& patch, double time) override;
    void derive(const domain::SolverBlock& block, std::string_view field, double time) override;
    [[nodiscard]] double stable_dt(const domain::SolverBlock& block) override;
    void add_own(const domain::Decomposition& decomposition,
                 domain::SolverEstimate& estimate) const override;

  private:
    /// Stable step of a block, and the cell that limits it.
    struct Limit {
        double step;
        Index<3> cell;
    };
    [[nodiscard]] Limit limit(const domain::SolverBlock& block);
    [[nodiscard]] std::string state_text(const domain::SolverBlock& block,
                                         const Index<3>& at) const;
    [[nodiscard]] FlowBlock flow_block(const domain::SolverBlock& block) const;
    /// Replace the convective fluxes of a row at isothermal walls, and at walls of zones thinner
    /// than the ghosts, by the pressure: values beyond them that are no mirror images would let an
    /// upwind flux pass.
    void close_walls(Convection& convection, const domain::SolverBlock& block,
                     const FlowBlock& flow, const SideRow& row, double* const* fluxes) const;
    /// Call a function for the sides of a row that lie in patches, with their fluxes.
    using SideVisit = std::function<void(const PatchCondition&, const domain::Face&, const SideRow&,
                                         double* const*)>;
    void visit_sides(const domain::SolverBlock& block, const SideRow& row, double* const* fluxes,
                     const SideVisit& visit) const;
    void update_primitives(const domain::SolverBlock& block, const Box<3>& cells);
    void update_transport(const domain::SolverBlock& block, const Box<3>& cells);
    void add_sources(const domain::SolverBlock& block, const View<double>& derivative) const;
    [[nodiscard]] std::optional<Index<3>> first_impossible(const domain::SolverBlock& block) const;

    /// Cell in a sponge.
    struct DampedCell {
        Index<3> cell;
        std::size_t sponge;
        double rate;
    };
    /// Kernels with arrays of their own, for one thread.
    struct Kernels {
        Convection convection;
        Diffusion diffusion;
    };

    JetParameters flow_;
    std::vector<Kernels> kernels_;
    std::vector<std::vector<DampedCell>> damped_; ///< by block, in the order of the cells
    int ghosts_;
    bool has_wall_models_ = false;
    std::optional<domain::Field<double>> primitive_, sensor_, transport_;
    std::optional<domain::FluxForm> form_;
};

} // namespace uzushio::jet
