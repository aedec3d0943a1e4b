#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>

#include "parallel/aligned_array.hpp"
#include "phasefield/coefficients.hpp"
#include "phasefield/frame.hpp"
#include "phasefield/kernels.hpp"
#include "phasefield/observed.hpp"
#include "phasefield/trajectory.hpp"
#include "stencil/compensated_sum.hpp"
#include "stencil/counters.hpp"
#include "stencil/replay.hpp"
#include "stencil/sweep.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::phasefield {

/// How sweeps are cut; no value depends on it.
struct Blocking {
    int x_tile = 1; ///< ranks along x
    int y_tile = 1;
    int forward_steps = 1; ///< between two exchanges
    int backward_steps = 1;
    std::string scheme = "plain"; ///< of `stencil::schemes()`
    stencil::CacheBlocking cache;
    int threads = 1;
    bool overlap = true;
    int replayed = 1; ///< steps of a block of `checkpoints`; all states are kept if it is 1
};

/// The phase field on the ranks of a communicator. All but the constructor take fields as this
/// rank's tile, rows one after the other, and are collective; steps are first <= last.
class Model {
  public:
    /// Throws `std::invalid_argument`, on all ranks, with what is allowed.
    Model(MPI_Comm comm, int nx, int ny, const Parameters& parameters, const Blocking& blocking);
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    [[nodiscard]] const stencil::Rect& own() const { return tiling_.own(); }
    /// What trajectories and observations of this model lie in; lives as long as the model.
    [[nodiscard]] const Frame& frame() const { return frame_; }
    /// What all sweeps have done.
    [[nodiscard]] stencil::Counters counters() const;

    /// Memory for states that all sweeps can read.
    [[nodiscard]] Trajectory trajectory(int steps) const { return {frame_, steps}; }
    /// Memory for states that `adjoint` can read: some of them are kept, and it computes the others
    /// again.
    [[nodiscard]] Trajectory checkpoints(int steps) const {
        return replay_ ? Trajectory(*wide_frame_, steps, every_) : trajectory(steps);
    }
    /// Steps from one such state to the next.
    [[nodiscard]] int every() const { return every_; }

    /// What the last of `forward`, `misfit`, `adjoint`, `second_order` and `dot` returned, before
    /// it was rounded: of a run in pieces, the sum of these is the same however it is cut.
    [[nodiscard]] stencil::Double2 last_sum() const { return last_sum_; }

    /// Memory of the sweeps; trajectories and observations come on top.
    [[nodiscard]] std::size_t bytes() const;

    /// Equation (2). Returns the misfit (4) of the observed steps in (first, last]; writes steps
    /// first to last - 1 into `trajectory`. Either may be null.
    double forward(double* phi, double m, int first, int last, Trajectory* trajectory,
                   const Observed* observed);

    /// The misfit of one step.
    [[nodiscard]] double misfit(const double* phi, int step, const Observed& observed) const;

    /// Equations (5) and (6), from λ of `last` to λ of `first`; returns the part of ∂J/∂m. Keeps λ
    /// of the steps first + 1 to last in `kept`, as of the step before each, unless it is null,
    /// which needs a trajectory of all states. With `misfit`, `last_misfit` is that of the observed
    /// steps in [first, last).
    double adjoint(double* lambda, double m, int first, int last, Trajectory& trajectory,
                   const Observed* observed, Trajectory* kept, bool misfit = false);
    [[nodiscard]] stencil::Double2 last_misfit() const { return last_misfit_; }

    /// Equation (7). Keeps dφ of the steps first to last - 1 in `kept`, unless it is null.
    void tangent(double* dphi, double dm, double m, int first, int last, Trajectory& trajectory,
                 Trajectory* kept);

    /// Equations (8) and (9), from dλ of `last` to dλ of `first`; returns the part of d(∂J/∂m).
    double second_order(double* mu, double dm, double m, int first, int last,
                        Trajectory& trajectory, Trajectory& tangent, Trajectory* adjoint,
                        const Observed* observed);

    /// Σ a b over all points of all ranks.
    [[nodiscard]] double dot(const double* a, const double* b) const;

    /// Whether a sweep over [first, last) can read the trajectory as it was written.
    [[nodiscard]] bool fits(const Trajectory& trajectory, int first, int last) const;

  private:
    [[nodiscard]] Coefficients coefficients(double m, double dm = 0.0) const;
    void read(Trajectory& trajectory, int first, int last, const stencil::Sweep& by) const;
    void replay(double* lambda, int first, int last, Trajectory& trajectory,
                const Coefficients& coefficients, const Observed* observed, Summed summed,
                PerThread<AdjointSums>& sums);
    /// Over all ranks, times `factor`.
    [[nodiscard]] stencil::Double2 total(const stencil::CompensatedSum& sum, double factor) const;
    /// The same, kept as `last_sum`, and rounded.
    [[nodiscard]] double rounded(const stencil::CompensatedSum& sum, double factor = 1.0) const;

    Parameters parameters_;
    stencil::Tiling tiling_;
    stencil::Sweep forward_;
    stencil::Sweep backward_;
    int every_;
    Frame frame_;
    mutable stencil::Double2 last_sum_;
    stencil::Double2 last_misfit_;
    std::optional<Frame> wide_frame_; ///< of checkpoints
    std::optional<stencil::Replay> replay_;
    parallel::AlignedArray<double> lambda_, lambda_frame_; ///< of `replay`
    stencil::Counters replayed_;
    bool shared_; ///< points beyond the tile are computed for its neighbours (scheme diamond)
};

} // namespace uzushio::phasefield
