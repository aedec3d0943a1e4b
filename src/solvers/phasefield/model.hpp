#pragma once

#include <mpi.h>

#include <optional>
#include <span>
#include <string>

#include "parallel/aligned_array.hpp"
#include "parallel/compensated_sum.hpp"
#include "solvers/phasefield/kernels.hpp"
#include "solvers/phasefield/observations.hpp"
#include "solvers/phasefield/rows.hpp"
#include "solvers/phasefield/tile_halo.hpp"
#include "solvers/phasefield/trajectory.hpp"
#include "stencil/replay.hpp"
#include "stencil/sweep.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::phasefield {

/// Blocking of sweeps over ranks, steps and caches; results are independent of it.
struct Blocking {
    int x_tile = 1; ///< ranks along x
    int y_tile = 1;
    int forward_steps = 1; ///< between two exchanges
    int backward_steps = 1;
    std::string scheme = "plain"; ///< one of `stencil::schemes()`
    stencil::CacheBlocking cache;
    int threads = 1;
    bool overlap = true;
    int replay_steps = 1; ///< interval of stored states in `checkpoints`; 1: all states
};

/// Results of an adjoint sweep, not yet rounded.
struct AdjointResult {
    parallel::DoubleDouble gradient; ///< these steps' part of ∂J/∂m
    parallel::DoubleDouble misfit;   ///< 0 unless it was requested
};

/// Phase field on the ranks of a communicator.
///
/// All methods that take fields are collective. A field is this rank's tile in row-major order;
/// steps satisfy first <= last. Results are not rounded, so that the rounded sum over parts of a
/// run is independent of the partition; they are identical on all ranks.
class Model {
  public:
    using Field = std::span<double>;
    using ConstField = std::span<const double>;

    /// Throw `std::invalid_argument`, on all ranks, if the blocking does not fit (collective).
    Model(MPI_Comm comm, int nx, int ny, const SchemeParameters& parameters,
          const Blocking& blocking);
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    [[nodiscard]] const stencil::Rect& own() const { return tiling_.own(); }
    /// Halo of this model's trajectories and observations; valid during the model's lifetime.
    [[nodiscard]] const TileHalo& halo() const { return halo_; }
    /// Return the counters of all sweeps.
    [[nodiscard]] stencil::SweepCounters counters() const;
    /// Memory of the sweeps, without trajectories and observations.
    [[nodiscard]] std::size_t bytes() const;

    /// Allocate a trajectory of all states, for all sweeps.
    [[nodiscard]] Trajectory trajectory(int steps) const { return {halo_, steps}; }
    /// Allocate a trajectory of states at an interval, for `adjoint`, which recomputes the others.
    [[nodiscard]] Trajectory checkpoints(int steps) const {
        return replay_ ? Trajectory(*replay_halo_, steps, interval_) : trajectory(steps);
    }
    /// Interval of the states in `checkpoints`.
    [[nodiscard]] int interval() const { return interval_; }
    /// Whether a sweep over [first, last) can read the trajectory as it was written.
    [[nodiscard]] bool can_read(const Trajectory& trajectory, int first, int last) const;

    /// Equation (2). Return the misfit (4) of the observed steps in (first, last]; store steps
    /// first to last - 1 in `trajectory`. Both may be null.
    parallel::DoubleDouble forward(Field phi, double m, int first, int last, Trajectory* trajectory,
                                   const Observations* observations);

    /// Return the misfit of one step.
    [[nodiscard]] parallel::DoubleDouble misfit(ConstField phi, int step,
                                                const Observations& observations) const;

    /// Equations (5) and (6), from λ of `last` to λ of `first`. Store λ of the steps first + 1 to
    /// last in `kept`, at the index of the step before each, unless it is null; this needs a
    /// trajectory of all states. With `with_misfit`, return the misfit of the observed steps in
    /// [first, last) too.
    AdjointResult adjoint(Field lambda, double m, int first, int last, Trajectory& trajectory,
                          const Observations* observations, Trajectory* kept, bool with_misfit);

    /// Equation (7). Store dφ of the steps first to last - 1 in `kept`, unless it is null.
    void tangent(Field dphi, double dm, double m, int first, int last, Trajectory& trajectory,
                 Trajectory* kept);

    /// Equations (8) and (9), from dλ of `last` to dλ of `first`; return the part of d(∂J/∂m).
    parallel::DoubleDouble second_order(Field mu, double dm, double m, int first, int last,
                                        Trajectory& trajectory, Trajectory& tangent,
                                        Trajectory* adjoint, const Observations* observations);

  private:
    /// Return the memory of a field; throw `std::invalid_argument` unless it has the tile's size.
    template <class T> [[nodiscard]] T* tile(std::span<T> field) const;
    [[nodiscard]] Coefficients coefficients(double m, double dm = 0.0) const;
    void prepare(Trajectory& trajectory, int first, int last, const stencil::Sweep& reader) const;
    void replay(double* lambda, int first, int last, Trajectory& trajectory,
                const Coefficients& coefficients, const Observations* observations,
                AdjointTerms terms, PerThread<AdjointSums>& sums);
    /// Return `factor` times the sum over all ranks.
    [[nodiscard]] parallel::DoubleDouble total(const parallel::CompensatedSum& sum,
                                               double factor) const;

    SchemeParameters parameters_;
    stencil::Tiling tiling_;
    stencil::Sweep forward_;
    stencil::Sweep backward_;
    int interval_;
    TileHalo halo_;
    std::optional<TileHalo> replay_halo_; ///< of checkpoints
    std::optional<stencil::Replay> replay_;
    parallel::AlignedArray<double> lambda_, lambda_halo_; ///< of `replay`
    stencil::SweepCounters replay_counters_;
    bool updates_neighbours_; ///< points beyond the tile are computed for neighbours (`diamond`)
};

} // namespace uzushio::phasefield
