#pragma once

#include <mpi.h>

#include <memory>
#include <stdexcept>

#include "domain/grid.hpp"
#include "domain/halo_exchange.hpp"
#include "linalg/linear_solver.hpp"
#include "parallel/section_monitor.hpp"
#include "solvers/thermal/immersed_grid.hpp"
#include "solvers/thermal/parameters.hpp"

namespace uzushio::thermal {

/// Error: the flow has no next step.
struct Diverged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Projection of a velocity onto fields without divergence (collective).
class Projection {
  public:
    using Field = domain::Field<double>;

    /// `immersed`: null if there are no bodies. What is given by reference must outlive the
    /// projection. Throws `std::invalid_argument` if the solver of the pressure does not exist or
    /// does not apply.
    Projection(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
               const FlowParameters& flow, const domain::Grid& grid, const ImmersedGrid* immersed,
               parallel::Traffic& traffic, parallel::SectionMonitor& sections);

    /// Prepare a stage of a step. If the step is much shorter than `time_scale`, the divergence
    /// that the solver's tolerance has left in the velocity is removed within a part of that time:
    /// within the step it would need a large pressure.
    void begin_stage(const Field& velocity, double step, double time_scale);

    /// Set the fluxes out of the box to those into it, and subtract `dt` times the gradient of a
    /// pressure from the velocity, so that its divergence is 0. An iterative solver begins with the
    /// values of `pressure`, and stores them there. Ghosts of the pressure are set. Throws
    /// `Diverged` on all ranks if the velocity is not finite or the solver does not converge.
    void apply(Field& velocity, Field& pressure, double dt);

    /// Return the mean velocity through the outflow faces; 0 without any.
    [[nodiscard]] double outflow_velocity() const {
        return outflow_area_ > 0 ? inflow_ / outflow_area_ : 0;
    }
    /// Return the maximum magnitude of the divergence over all ranks.
    [[nodiscard]] double max_divergence(const Field& velocity) const;

  private:
    void balance(Field& velocity) const;
    void set_divergence(const Field& velocity, double factor, Field& divergence) const;
    void add_residual(double factor);
    void remove_mean(Field& x) const;
    /// Set the values of a row of cells that are not fluid to 0.
    void clear_solid(std::size_t block, const Index<3>& first, std::int64_t size,
                     double* row) const;
    /// Return the area of the fluid cells at a face of the box, and the volume of all (collective).
    [[nodiscard]] double open_area(const Face& face) const;
    [[nodiscard]] double fluid_volume() const;
    void subtract_gradient(const Field& pressure, double dt, Field& velocity) const;

    MPI_Comm comm_;
    int rank_;
    const FlowParameters& flow_;
    const domain::Grid& grid_;
    const ImmersedGrid* immersed_;
    parallel::SectionMonitor& sections_;
    std::shared_ptr<const domain::Decomposition> decomposition_;
    Field divergence_;
    Field residual_;                       ///< divergence before a stage of a short step
    double removal_time_ = 0;              ///< of the residual; 0: within the stage
    double inflow_ = 0, outflow_area_ = 0; ///< volume in a unit of time, and area without bodies
    double volume_;
    bool singular_ = false;
    std::unique_ptr<linalg::LinearSolver> solver_;
    domain::HaloExchange<double> halo_;
};

} // namespace uzushio::thermal
