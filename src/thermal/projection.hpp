#pragma once

#include <mpi.h>

#include <memory>
#include <stdexcept>

#include "domain/halo_exchange.hpp"
#include "linalg/linear_solver.hpp"
#include "parallel/section_monitor.hpp"
#include "thermal/axis_metrics.hpp"
#include "thermal/box_faces.hpp"
#include "thermal/parameters.hpp"

namespace uzushio::thermal {

/// Error: the flow has no next step.
struct Diverged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Projection of a velocity onto fields without divergence (collective).
class Projection {
  public:
    using Field = domain::Field<double>;

    /// `traffic` and `sections` must outlive the projection. Throws `std::invalid_argument` if the
    /// solver of the pressure does not exist or does not apply.
    Projection(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
               const FlowParameters& flow, parallel::Traffic& traffic,
               parallel::SectionMonitor& sections);

    /// Set the fluxes out of the box to those into it, and subtract `dt` times the gradient of a
    /// pressure from the velocity, so that its divergence is 0. An iterative solver begins with the
    /// values of `pressure`, and stores them there. Ghosts of the pressure are set. Throws
    /// `Diverged` on all ranks if the velocity is not finite or the solver does not converge.
    void apply(Field& velocity, Field& pressure, double dt);

    /// Return the maximum magnitude of the divergence over all ranks.
    [[nodiscard]] double max_divergence(const Field& velocity) const;

  private:
    void balance(Field& velocity) const;
    void set_divergence(const Field& velocity, double factor, Field& divergence) const;
    void remove_mean(Field& x) const;
    void subtract_gradient(const Field& pressure, double dt, Field& velocity) const;

    MPI_Comm comm_;
    int rank_;
    const FlowParameters& flow_;
    parallel::SectionMonitor& sections_;
    std::shared_ptr<const domain::Decomposition> decomposition_;
    std::array<linalg::Axis, 3> axes_;
    std::array<AxisMetrics, 3> metrics_;
    /// Reciprocal distance over which the flux through a face is a difference; 0 at boundaries.
    std::array<std::vector<double>, 3> gradient_;
    ThroughFlow through_flow_;
    bool singular_;
    Field divergence_;
    std::unique_ptr<linalg::LinearSolver> solver_;
    domain::HaloExchange<double> halo_;
};

} // namespace uzushio::thermal
