#pragma once

#include <complex>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parallel/section_monitor.hpp"
#include "parallel/section_names.hpp"
#include "parallel/traffic.hpp"
#include "solvers/channel/convection.hpp"
#include "solvers/channel/halo.hpp"
#include "solvers/channel/parameters.hpp"
#include "solvers/channel/planes.hpp"
#include "solvers/channel/process_grid.hpp"
#include "solvers/channel/tridiagonal.hpp"
#include "solvers/channel/wall_grid.hpp"

namespace uzushio::channel {

/// Solver of incompressible flow between two walls: Fourier modes in x and y, second-order
/// differences on a staggered grid in z, three Runge–Kutta substeps for convection with
/// Crank–Nicolson for diffusion, and a fractional step for the pressure. See
/// docs/theory/channel.md.
///
/// All methods are collective over the communicator, except those marked "Local".
class Solver {
  public:
    /// `sections` receives the times of all methods; it must outlive the solver. Throw
    /// `std::invalid_argument` if a parameter is invalid.
    Solver(const Parameters& parameters, MPI_Comm comm, parallel::SectionMonitor& sections);

    /// Advance by `cfl` over the maximum rate of convection, at most by `max_dt`, or as `next_step`
    /// if the end of the run is `left` away. Return the time step, or NaN if a field is not finite;
    /// then no field changes.
    double step(double cfl, double max_dt, double left = std::numeric_limits<double>::infinity());
    /// Return the maximum of |u|/dx + |v|/dy + |w|/(pi dz) at the start of the last step. Local.
    [[nodiscard]] double fastest_rate() const { return fastest_rate_; }
    /// Return this maximum of the present fields, infinity if one is not finite.
    [[nodiscard]] double measure_rate();

    /// Add profiles of the Fourier mode with wave numbers (kx, ky), kx >= 0: u and v at all
    /// centres, w at the upper faces. The mode (-kx, -ky) is the conjugate of this one. Local.
    void add_mode(int kx, int ky, std::span<const Complex> u, std::span<const Complex> v,
                  std::span<const Complex> w);
    /// Project the velocity onto divergence-free fields and compute its pressure, after modes or
    /// planes were set.
    void project();
    /// Fill the ghost planes, after planes were set to a state that has been projected.
    void exchange_ghosts();

    /// Set the mean pressure gradient or the bulk velocity, depending on the forcing. Local.
    void set_drive(double drive) { parameters_.drive = drive; }
    /// Use the FFT plans of an earlier run, so that a restart rounds in the same way. Local.
    void use_wisdom(const std::string& wisdom);

    /// Return the mean streamwise velocity over the cross-section.
    [[nodiscard]] double bulk_velocity();
    /// Return the mean wall shear stress over density of both walls.
    [[nodiscard]] double wall_shear();
    /// Return minus the mean pressure gradient that acted in the last step. Local.
    [[nodiscard]] double pressure_gradient() const { return pressure_gradient_; }
    /// Return the volume mean of (u² + v² + w²)/2.
    [[nodiscard]] double kinetic_energy();
    /// Return the root mean square of the divergence over the volume.
    [[nodiscard]] double divergence();
    /// Return the power of the convective terms (their product with the velocity, zero if energy is
    /// conserved), and the sum of the absolute values of its parts. Overwrites the terms.
    [[nodiscard]] std::pair<double, double> convective_power();

    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    [[nodiscard]] const ProcessGrid& grid() const { return grid_; }
    [[nodiscard]] const WallGrid& wall() const { return wall_; }
    [[nodiscard]] PlaneTransform& transform() { return convection_.transform(); }
    /// Call `call(transform, planes)` on each thread, as `Convection::on_parts`.
    template <class Call> void on_parts(Call&& call) { convection_.on_parts(call); }
    [[nodiscard]] parallel::Range planes() const { return planes_; }
    [[nodiscard]] Velocity velocity() const { return velocity_; }
    /// Return the pressure plus the mean of w² over the cell (see Convection).
    [[nodiscard]] Planes pressure() const { return p_; }
    [[nodiscard]] const std::vector<double>& kx() const { return kx_; }
    [[nodiscard]] const std::vector<double>& ky() const { return ky_; }
    [[nodiscard]] const std::vector<double>& k2() const { return k2_; }
    /// Return the number of modes that mode m stands for: 1, or 2 with its conjugate.
    [[nodiscard]] double weight(int m) const {
        return kx_[static_cast<std::size_t>(m)] == 0 ? 1 : 2;
    }
    [[nodiscard]] parallel::SectionMonitor& sections() { return sections_; }
    [[nodiscard]] parallel::Traffic& traffic() { return traffic_; }
    /// Return the bytes of fields and buffers. Local.
    [[nodiscard]] std::size_t bytes() const;

    /// Fields that the solves of a substep must move between memory and processor: velocity,
    /// pressure, new and old terms are read, velocity and pressure written.
    static constexpr int solve_passes = 3 + 1 + 3 + 3 + 3 + 1;
    /// Return the bytes of this rank's part of a number of fields. Local.
    [[nodiscard]] double bytes_of(int fields) const {
        return 16.0 * fields * planes_.size() * modes_;
    }

  private:
    struct Substep {
        double dt, gamma, zeta;
        [[nodiscard]] double share() const { return gamma + zeta; } ///< of the time step
        [[nodiscard]] bool is_first() const { return zeta == 0; }
    };
    /// Arguments of a projection: `velocity` loses the gradient of a potential times `time`.
    struct Projection {
        Velocity velocity;
        double time;
        double diffusion; ///< factor of the potential's Laplacian, subtracted from the pressure
        bool adds_to_pressure;
        Velocity scratch; ///< u receives the potential, w the factors of the elimination
    };

    void advance(double dt);
    void solve_along_z(const Substep& s);
    /// Return the stage that advances the velocity without a new pressure. Each chunk of
    /// `previous_terms` is added to the right-hand side and then overwritten by factors.
    [[nodiscard]] SolveStage momentum_stage(const Substep& s, const Velocity& previous_terms);
    void add_explicit_terms(const Substep& s, const Velocity& previous_terms,
                            parallel::Range modes);
    /// Return the stage that computes the potential and subtracts its gradient.
    [[nodiscard]] SolveStage projection_stage(const Projection& projection);
    void compute_divergence(const Projection& projection, parallel::Range modes);
    void subtract_gradient(const Projection& projection, parallel::Range modes);
    void hold_flow_rate(const Substep& s);
    [[nodiscard]] double sum(double local);
    [[nodiscard]] bool holds_mean() const { return grid_.plane().rank() == 0; }
    /// Return the sum of weight times Re(a conj(b)) over this rank's modes of plane k.
    [[nodiscard]] double power(const Planes& a, const Planes& b, int k) const;

    Parameters parameters_;
    WallGrid wall_;
    ProcessGrid grid_;
    parallel::Range planes_;
    parallel::SectionMonitor& sections_;
    parallel::Traffic traffic_;
    Convection convection_;
    int modes_;
    Fields fields_;                                    ///< storage of the ten fields below
    std::vector<double> kx_, ky_, k2_, poisson_shift_; ///< of each mode of a plane
    Velocity velocity_;
    Velocity terms_;          ///< convective terms of this substep; scratch between steps
    Velocity previous_terms_; ///< of the substep before; scratch once they have been used
    Planes p_;
    parallel::AlignedArray<double> row_; ///< the row below, before the substep
    Halo halo_;
    std::unique_ptr<TridiagonalSolver> tridiagonal_;
    Rows centre_rows_, face_rows_;
    std::vector<double> mean_response_, mean_factors_;
    double fastest_rate_ = 0;
    double pressure_gradient_ = 0;
};

} // namespace uzushio::channel
