#pragma once

#include "solvers/thermal/blocked_faces.hpp"
#include "solvers/thermal/body_forces.hpp"
#include "solvers/thermal/cut_points.hpp"
#include "solvers/thermal/momentum.hpp"
#include "solvers/thermal/surface_scalars.hpp"

namespace uzushio::thermal {

/// Corrections of a step for the bodies in a flow.
class Bodies {
  public:
    /// Throws `std::invalid_argument` on all ranks if the bodies leave no fluid (collective).
    Bodies(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
           const FlowParameters& flow, const domain::Grid& grid,
           const domain::Field<double>& velocity);

    [[nodiscard]] const ImmersedGrid& immersed() const { return immersed_; }

    /// Correct the derivative of the velocity component along axis `a` in a block: at blocked
    /// faces, which relax within `time`, and at open faces near surfaces.
    void correct_momentum(const FlowBlock& block, std::size_t number, std::size_t a, double time,
                          const View<double>& derivative) const;
    /// Set the velocity at blocked faces as if it had relaxed; its ghosts are valid.
    void relax(domain::Field<double>& velocity) const { blocked_.relax(velocity); }

    /// Compute the changes that `correct_scalar` adds, from fields with valid ghosts (collective).
    void prepare_scalars(const std::vector<FlowBlock>& blocks) { scalars_.prepare(blocks); }

    /// Correct the derivative of scalar `s` in a block, near surfaces and in bodies.
    void correct_scalar(const FlowBlock& block, std::size_t number, std::size_t s,
                        const View<double>& derivative) const {
        scalars_.correct(block, number, s, derivative);
    }

    /// Return the exchange of scalars at surfaces.
    [[nodiscard]] const SurfaceScalars& scalars() const { return scalars_; }

    /// Set scalar `s` in bodies with a fixed value to that value.
    void fill(domain::Field<double>& scalar, std::size_t s) const {
        scalars_.fill_bodies(scalar, s);
    }

    /// Return the conductivity of scalar `s` in a cell of a block over that of the fluid; 0 in
    /// bodies that do not conduct.
    [[nodiscard]] double conductivity(std::size_t number, std::size_t s,
                                      const Index<3>& cell) const;

    /// Set the eddy viscosity to 0 in bodies and in cells near surfaces, so that the stress at
    /// surfaces is viscous.
    void remove_eddies(std::size_t number, const View<double>& eddies) const {
        for (const Index<3>& cell : without_eddies_[number])
            eddies(cell) = 0;
    }

    /// Balance the velocity at blocked faces before a projection (collective), and restore it after
    /// that.
    void begin_projection(domain::Field<double>& velocity) { blocked_.balance(comm_, velocity); }
    void end_projection(domain::Field<double>& velocity) const { blocked_.restore(velocity); }

    /// Return the forces of the flow on the bodies, over the density (collective).
    [[nodiscard]] std::vector<Vector> forces(const std::vector<FlowBlock>& blocks,
                                             const domain::Field<double>& pressure) const;

    /// Return the mean flux of scalar `s` from each body into the flow (collective).
    [[nodiscard]] std::vector<double> fluxes(const std::vector<FlowBlock>& blocks, std::size_t s) {
        scalars_.prepare(blocks);
        return scalars_.fluxes(s);
    }

  private:
    MPI_Comm comm_;
    const FlowParameters& flow_;
    ImmersedGrid immersed_;
    SurfacePatches patches_;
    BlockedFaces blocked_;
    std::vector<std::array<std::vector<CutPoint>, 3>> points_; ///< open faces near surfaces
    std::vector<std::vector<Index<3>>> without_eddies_;        ///< cells of blocks
    BodyForces forces_;
    SurfaceScalars scalars_;
};

} // namespace uzushio::thermal
