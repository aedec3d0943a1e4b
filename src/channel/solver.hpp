#pragma once

#include <complex>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "channel/convection.hpp"
#include "channel/parameters.hpp"
#include "channel/wall_grid.hpp"
#include "linalg/tridiagonal.hpp"
#include "parallel/halo.hpp"
#include "parallel/planes.hpp"
#include "parallel/process_grid.hpp"
#include "parallel/stopwatch.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::channel {

/// Incompressible flow between two walls: Fourier modes in x and y, second-order differences on a
/// staggered grid in z, three Runge–Kutta substeps for convection with Crank–Nicolson for
/// diffusion, and a fractional step for the pressure. See docs/theory/channel.md.
///
/// Every rank of the communicator calls every method, in the same order, unless it says "local".
class Solver {
  public:
    /// Throws `std::invalid_argument` if the parameters cannot be used.
    Solver(const Parameters& parameters, MPI_Comm comm);

    /// Advance by `cfl` over the fastest rate of convection, or by `longest` if that is less.
    /// Returns the time step taken, or NaN, with the fields as they were, if one is not finite.
    double step(double cfl, double longest);
    /// Rate of the last step: the largest |u|/dx + |v|/dy + |w|/(pi dz). Local.
    [[nodiscard]] double fastest_rate() const { return fastest_rate_; }
    /// The same of the present fields, infinity if one is not finite.
    [[nodiscard]] double measure_rate();

    /// Add profiles of one Fourier mode, wave numbers (kx, ky) with kx >= 0: u and v at all
    /// centres, w at the upper faces. The mode (-kx, -ky) of a real field is understood.
    void add_mode(int kx, int ky, std::span<const spectral::Complex> u,
                  std::span<const spectral::Complex> v, std::span<const spectral::Complex> w);
    /// Make the velocity free of divergence and find its pressure, after modes or planes were set.
    void settle();
    /// Bring the ghost planes up to date, after planes were set to a state that is settled.
    void refresh();

    /// Change the mean pressure gradient or the bulk velocity, whichever drives the flow. Local.
    void set_drive(double drive) { parameters_.drive = drive; }
    /// Use these FFT plans, so that a restart rounds as the run before it.
    void use_wisdom(const std::string& wisdom);

    /// Mean streamwise velocity over the cross-section.
    [[nodiscard]] double bulk_velocity();
    /// Mean wall shear stress over density, of both walls.
    [[nodiscard]] double wall_shear();
    /// Minus the mean pressure gradient that acted in the last step.
    [[nodiscard]] double pressure_gradient() const { return pressure_gradient_; }
    /// Volume mean of (u² + v² + w²)/2.
    [[nodiscard]] double kinetic_energy();
    /// Root of the volume mean of the divergence squared.
    [[nodiscard]] double divergence();
    /// Power of the convective terms, velocity times n, and the sum of its absolute parts.
    [[nodiscard]] std::pair<double, double> convective_power();

    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    [[nodiscard]] const parallel::ProcessGrid& grid() const { return grid_; }
    [[nodiscard]] const WallGrid& wall() const { return wall_; }
    [[nodiscard]] spectral::PlaneTransform& transform() { return convection_.transform(); }
    [[nodiscard]] parallel::Range planes() const { return planes_; }
    [[nodiscard]] Velocity velocity() const { return now_; }
    /// The pressure, with the mean of w² over the cell in it (see Convection).
    [[nodiscard]] parallel::Planes pressure() const { return p_; }
    [[nodiscard]] const std::vector<double>& kx() const { return kx_; }
    [[nodiscard]] const std::vector<double>& ky() const { return ky_; }
    [[nodiscard]] const std::vector<double>& k2() const { return k2_; }
    /// 1 for modes that stand for themselves, 2 for those that stand for their conjugate too.
    [[nodiscard]] double weight(int m) const {
        return kx_[static_cast<std::size_t>(m)] == 0 ? 1 : 2;
    }
    [[nodiscard]] parallel::Stopwatch& watch() { return watch_; }
    [[nodiscard]] parallel::Traffic& traffic() { return traffic_; }
    /// Bytes of fields and buffers. Local.
    [[nodiscard]] std::size_t bytes() const;

  private:
    struct Substep {
        double dt, gamma, zeta;
        [[nodiscard]] double whole() const { return gamma + zeta; }
    };

    [[nodiscard]] linalg::Stage momentum(const Substep& s);
    void explicit_terms(const Substep& s, parallel::Range modes);
    [[nodiscard]] linalg::Stage projection(const Velocity& velocity, double time, double diffusion,
                                           bool keep_pressure);
    void make_divergence(const Velocity& velocity, double time, double diffusion,
                         parallel::Range modes);
    void correct(const Velocity& velocity, double time, bool keep_pressure, parallel::Range modes);
    void hold_flow_rate(const Substep& s);
    void exchange_ghosts();
    [[nodiscard]] double sum(double local);
    [[nodiscard]] bool holds_mean() const { return grid_.plane().rank() == 0; }
    /// Sum of weight |a|² of a plane over this rank's modes.
    [[nodiscard]] double power(const parallel::Planes& a, const parallel::Planes& b, int k) const;

    Parameters parameters_;
    WallGrid wall_;
    parallel::ProcessGrid grid_;
    parallel::Range planes_;
    parallel::Stopwatch watch_;
    parallel::Traffic traffic_;
    Convection convection_;
    int modes_;
    parallel::Fields fields_;                          ///< all ten
    std::vector<double> kx_, ky_, k2_, poisson_shift_; ///< of each mode of a plane
    Velocity now_, n_, old_; ///< velocity; convective terms of this substep and of the one before
    parallel::Planes p_;
    parallel::AlignedArray<double> row_; ///< a chunk of the row below, before it changed
    parallel::Halo halo_;
    std::unique_ptr<linalg::TridiagonalSolver> tridiagonal_;
    linalg::Rows centre_rows_, face_rows_;
    std::vector<double> mean_response_, mean_factor_;
    double fastest_rate_ = 0;
    double pressure_gradient_ = 0;
};

} // namespace uzushio::channel
