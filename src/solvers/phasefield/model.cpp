#include "solvers/phasefield/model.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "solvers/phasefield/replayed_adjoint.hpp"

namespace uzushio::phasefield {

namespace {

stencil::SweepOptions options_of(const Blocking& blocking, int steps) {
    stencil::SweepOptions options;
    options.scheme = blocking.scheme;
    options.block_steps = steps;
    options.cache = blocking.cache;
    options.threads = blocking.threads;
    options.overlap = blocking.overlap;
    return options;
}

/// Return the maximum distance of updated points from the tile.
int reach(const stencil::Sweep& sweep) {
    const auto& own = sweep.tiling().own();
    const auto& all = sweep.update_bounds();
    return std::max({own.x.begin - all.x.begin, all.x.end - own.x.end, own.y.begin - all.y.begin,
                     all.y.end - own.y.end});
}

/// Return the validated interval of stored states.
int replay_steps_of(const stencil::Tiling& tiling, const Blocking& blocking) {
    if (blocking.replay_steps > stencil::Replay::max_steps)
        throw std::invalid_argument(
            "blocks of recomputed states have " + std::to_string(blocking.replay_steps) +
            " steps; the maximum is " + std::to_string(stencil::Replay::max_steps));
    const int halo = stencil::Replay::state_halo(blocking.replay_steps);
    if (blocking.replay_steps < 1 || (tiling.has_neighbours_x() && tiling.min_extent_x() < halo) ||
        (tiling.has_neighbours_y() && tiling.min_extent_y() < halo))
        throw std::invalid_argument("blocks of recomputed states have " +
                                    std::to_string(blocking.replay_steps) +
                                    " steps; this needs at least one step, and tiles of at least " +
                                    std::to_string(halo) + " points along each axis");
    return blocking.replay_steps;
}

/// Return the size of the L2 cache, the limit of a replay's rows.
std::size_t l2_cache_bytes() {
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return static_cast<std::size_t>(bytes > 0 ? bytes : 1L << 20);
}

/// Return the maximum halo width of all ranks (collective); ranks at an edge may need less.
int halo_width(const stencil::Sweep& forward, const stencil::Sweep& backward, int replay_steps) {
    int width = std::max({reach(forward), reach(backward), replay_steps > 1 ? replay_steps : 0});
    MPI_Allreduce(MPI_IN_PLACE, &width, 1, MPI_INT, MPI_MAX, forward.tiling().comm().get());
    return width;
}

const Blocking& checked(const Blocking& blocking) {
    if (blocking.scheme == "diamond" && blocking.forward_steps != blocking.backward_steps)
        throw std::invalid_argument(
            "with scheme 'diamond' fblt and bblt must be equal, since a backward sweep follows the "
            "forward sweep's points; they are " +
            std::to_string(blocking.forward_steps) + " and " +
            std::to_string(blocking.backward_steps));
    return blocking;
}

} // namespace

Model::Model(MPI_Comm comm, int nx, int ny, const SchemeParameters& parameters,
             const Blocking& blocking)
    : parameters_(parameters), tiling_(comm, nx, ny, checked(blocking).x_tile, blocking.y_tile,
                                       parameters.periodic, parameters.periodic),
      forward_(tiling_, options_of(blocking, blocking.forward_steps)),
      backward_(tiling_, options_of(blocking, blocking.backward_steps)),
      interval_(replay_steps_of(tiling_, blocking)),
      halo_(tiling_, halo_width(forward_, backward_, interval_)),
      updates_neighbours_(blocking.scheme == "diamond") {
    if (interval_ == 1)
        return;
    replay_halo_.emplace(tiling_, stencil::Replay::state_halo(interval_));
    replay_.emplace(tiling_, interval_, blocking.threads, l2_cache_bytes());
    lambda_ = parallel::AlignedArray<double>(static_cast<std::size_t>(own().points()));
    lambda_halo_ = parallel::AlignedArray<double>(halo_.size());
}

std::size_t Model::bytes() const {
    const std::size_t replay = replay_ ? replay_->bytes() : 0;
    return forward_.bytes() + backward_.bytes() + replay + lambda_.bytes() + lambda_halo_.bytes();
}

stencil::SweepCounters Model::counters() const {
    stencil::SweepCounters sum = replay_counters_;
    for (const auto* counters : {&forward_.counters(), &backward_.counters()}) {
        sum.steps += counters->steps;
        sum.blocks += counters->blocks;
        sum.messages += counters->messages;
        sum.bytes += counters->bytes;
        sum.points += counters->points;
        sum.redundant += counters->redundant;
    }
    return sum;
}

template <class T> T* Model::tile(std::span<T> field) const {
    if (field.size() != static_cast<std::size_t>(own().points()))
        throw std::invalid_argument("phasefield: a field has not the size of this rank's tile");
    return field.data();
}

Coefficients Model::coefficients(double m, double dm) const {
    return {parameters_.diffusion, parameters_.reaction, m, dm};
}

bool Model::can_read(const Trajectory& trajectory, int first, int last) const {
    if (updates_neighbours_ && tiling_.comm().size() > 1)
        return trajectory.first() == first && trajectory.last() == last;
    return trajectory.covers(first, last);
}

void Model::prepare(Trajectory& trajectory, int first, int last,
                    const stencil::Sweep& reader) const {
    if (!can_read(trajectory, first, last))
        throw std::logic_error("phasefield: the trajectory does not cover these steps");
    if (trajectory.interval() > 1 && &reader != &backward_)
        throw std::logic_error("phasefield: only an adjoint recomputes states");
    // With `updates_neighbours_`, forward and backward sweeps update the same points on each rank.
    if (!updates_neighbours_ && trajectory.interval() == 1 && reader.options().block_steps > 1)
        trajectory.fill_halos();
}

parallel::DoubleDouble Model::total(const parallel::CompensatedSum& sum, double factor) const {
    const auto all = parallel::exact_sum_over_ranks(sum, tiling_.comm().get());
    const double high = parallel::unfused(factor * all.high);
    return {high, std::fma(factor, all.high, -high) + factor * all.low};
}

parallel::DoubleDouble Model::forward(Field phi, double m, int first, int last,
                                      Trajectory* trajectory, const Observations* observations) {
    double* const values = tile(phi);
    if (trajectory)
        trajectory->begin(first, last);
    ForwardKernel kernel{halo_, coefficients(m), trajectory, observations,
                         PerThread<LaneSum>(forward_.options().threads)};
    if (!observations && (!trajectory || trajectory->interval() > 1)) {
        AdvanceKernel grouped{kernel};
        forward_.run(values, own().x.size(), first, last, grouped);
        return {};
    }
    forward_.run(values, own().x.size(), first, last, kernel);
    if (!observations)
        return {};
    return total(kernel.sums.total(std::identity{}), 0.5 * observations->factor());
}

parallel::DoubleDouble Model::misfit(ConstField phi, int step,
                                     const Observations& observations) const {
    const double* const values = tile(phi);
    LaneSum sum;
    const auto [x, y] = own();
    for (int row = y.begin; row < y.end; ++row)
        misfit_row(x.begin, x.end, values + std::ptrdiff_t{row - y.begin} * x.size() - x.begin,
                   observations.row(step, row, TileHalo::interior), sum);
    return total(folded(sum), 0.5 * observations.factor());
}

AdjointResult Model::adjoint(Field lambda, double m, int first, int last, Trajectory& trajectory,
                             const Observations* observations, Trajectory* kept, bool with_misfit) {
    double* const values = tile(lambda);
    prepare(trajectory, first, last, backward_);
    const AdjointTerms terms =
        with_misfit ? AdjointTerms::gradient_and_misfit : AdjointTerms::gradient;
    AdjointKernel kernel{halo_,
                         coefficients(m),
                         trajectory,
                         observations,
                         kept,
                         terms,
                         PerThread<AdjointSums>(backward_.options().threads)};
    if (trajectory.interval() > 1) {
        if (kept)
            throw std::logic_error("phasefield: storing an adjoint needs a trajectory of all "
                                   "states");
        replay(values, first, last, trajectory, kernel.coefficients, observations, terms,
               kernel.sums);
    } else {
        if (kept)
            kept->begin(first, last);
        backward_.run(values, own().x.size(), last, first, kernel);
    }
    AdjointResult result;
    if (with_misfit && observations)
        result.misfit =
            total(kernel.sums.total(&AdjointSums::misfit), 0.5 * observations->factor());
    result.gradient = total(kernel.sums.total(&AdjointSums::gradient), parameters_.reaction);
    return result;
}

void Model::replay(double* lambda, int first, int last, Trajectory& trajectory,
                   const Coefficients& coefficients, const Observations* observations,
                   AdjointTerms terms, PerThread<AdjointSums>& sums) {
    const auto count = [this](const stencil::MessageCount& sent) {
        replay_counters_.messages += sent.messages;
        replay_counters_.bytes += sent.values * static_cast<std::int64_t>(sizeof(double));
    };
    count(trajectory.fill_halos());
    HaloField<double> end{lambda, own().x.size(), lambda_halo_.data()};
    HaloField<double> begin{lambda_.data(), own().x.size(), nullptr};
    const auto points = replay_->points(), redundant = replay_->redundant();
    for (int step = last; step > first;) {
        const int stored = trajectory.stored_before(step);
        const int stop = std::max(stored, first);
        if (halo_.size() > 0)
            count(halo_.exchange({&end, 1}));
        ReplayedAdjoint model(halo_, coefficients, trajectory, stored, observations, end, begin,
                              terms, sums);
        replay_->run(model, stored, stop, step);
        std::swap(end.tile, begin.tile);
        replay_counters_.steps += step - stop;
        replay_counters_.blocks += 1;
        step = stop;
    }
    replay_counters_.points += replay_->points() - points;
    replay_counters_.redundant += replay_->redundant() - redundant;
    if (end.tile != lambda)
        std::copy_n(end.tile, lambda_.size(), lambda);
}

void Model::tangent(Field dphi, double dm, double m, int first, int last, Trajectory& trajectory,
                    Trajectory* kept) {
    double* const values = tile(dphi);
    prepare(trajectory, first, last, forward_);
    if (kept)
        kept->begin(first, last);
    TangentKernel kernel{halo_, coefficients(m, dm), trajectory, kept};
    forward_.run(values, own().x.size(), first, last, kernel);
}

parallel::DoubleDouble Model::second_order(Field mu, double dm, double m, int first, int last,
                                           Trajectory& trajectory, Trajectory& tangent,
                                           Trajectory* adjoint, const Observations* observations) {
    double* const values = tile(mu);
    prepare(trajectory, first, last, backward_);
    prepare(tangent, first, last, backward_);
    if (adjoint)
        prepare(*adjoint, first, last, backward_);
    SecondOrderKernel kernel{halo_,
                             coefficients(m, dm),
                             trajectory,
                             tangent,
                             adjoint,
                             observations,
                             PerThread<LaneSum>(backward_.options().threads)};
    backward_.run(values, own().x.size(), last, first, kernel);
    return total(kernel.sums.total(std::identity{}), parameters_.reaction);
}

} // namespace uzushio::phasefield
