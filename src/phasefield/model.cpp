#include "phasefield/model.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "phasefield/replayed.hpp"

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

/// How far a sweep reaches beyond the tile, on any side.
int reach(const stencil::Sweep& sweep) {
    const auto& own = sweep.tiling().own();
    const auto& all = sweep.offered();
    return std::max({own.x.begin - all.x.begin, all.x.end - own.x.end, own.y.begin - all.y.begin,
                     all.y.end - own.y.end});
}

/// Steps of a block that a replay goes through.
int replayed_steps(const stencil::Tiling& tiling, const Blocking& blocking) {
    if (blocking.replayed > stencil::Replay::max_steps)
        throw std::invalid_argument(
            "states are to be computed again over blocks of " + std::to_string(blocking.replayed) +
            " steps; that takes at most " + std::to_string(stencil::Replay::max_steps));
    const int halo = stencil::Replay::state_halo(blocking.replayed);
    if (blocking.replayed < 1 || (tiling.cut_x() && tiling.narrowest_x() < halo) ||
        (tiling.cut_y() && tiling.narrowest_y() < halo))
        throw std::invalid_argument("states are to be computed again over blocks of " +
                                    std::to_string(blocking.replayed) +
                                    " steps; that takes at least one step, and tiles of " +
                                    std::to_string(halo) + " points in each direction");
    return blocking.replayed;
}

/// What the rows of a replay may take: the cache of level 2.
std::size_t cache_of_replay() {
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return static_cast<std::size_t>(bytes > 0 ? bytes : 1L << 20);
}

/// The widest frame that any rank needs: those at an edge of the domain may need less.
int frame_width(const stencil::Sweep& forward, const stencil::Sweep& backward, int replayed) {
    int width = std::max({reach(forward), reach(backward), replayed > 1 ? replayed : 0});
    MPI_Allreduce(MPI_IN_PLACE, &width, 1, MPI_INT, MPI_MAX, forward.tiling().comm().get());
    return width;
}

const Blocking& checked(const Blocking& blocking) {
    if (blocking.scheme == "diamond" && blocking.forward_steps != blocking.backward_steps)
        throw std::invalid_argument(
            "with scheme 'diamond' fblt and bblt must be equal, since a rank sweeps back over the "
            "points that it swept over; they are " +
            std::to_string(blocking.forward_steps) + " and " +
            std::to_string(blocking.backward_steps));
    return blocking;
}

} // namespace

Model::Model(MPI_Comm comm, int nx, int ny, const Parameters& parameters, const Blocking& blocking)
    : parameters_(parameters), tiling_(comm, nx, ny, checked(blocking).x_tile, blocking.y_tile,
                                       parameters.periodic, parameters.periodic),
      forward_(tiling_, options_of(blocking, blocking.forward_steps)),
      backward_(tiling_, options_of(blocking, blocking.backward_steps)),
      every_(replayed_steps(tiling_, blocking)),
      frame_(tiling_, frame_width(forward_, backward_, every_)),
      shared_(blocking.scheme == "diamond") {
    if (every_ == 1)
        return;
    wide_frame_.emplace(tiling_, stencil::Replay::state_halo(every_));
    replay_.emplace(tiling_, every_, blocking.threads, cache_of_replay());
    lambda_ = parallel::AlignedArray<double>(static_cast<std::size_t>(own().points()));
    lambda_frame_ = parallel::AlignedArray<double>(frame_.size());
}

std::size_t Model::bytes() const {
    const std::size_t replaying = replay_ ? replay_->bytes() : 0;
    return forward_.bytes() + backward_.bytes() + replaying + lambda_.bytes() +
           lambda_frame_.bytes();
}

stencil::Counters Model::counters() const {
    const auto& f = forward_.counters();
    const auto& b = backward_.counters();
    stencil::Counters all = replayed_;
    for (const auto* one : {&f, &b}) {
        all.steps += one->steps;
        all.blocks += one->blocks;
        all.messages += one->messages;
        all.bytes += one->bytes;
        all.points += one->points;
        all.redundant += one->redundant;
    }
    return all;
}

Coefficients Model::coefficients(double m, double dm) const {
    return {parameters_.diffusion, parameters_.reaction, m, dm};
}

bool Model::fits(const Trajectory& trajectory, int first, int last) const {
    if (shared_ && tiling_.comm().size() > 1)
        return trajectory.holds(first, last) && trajectory.first() == first &&
               trajectory.last() == last;
    return trajectory.holds(first, last);
}

void Model::read(Trajectory& trajectory, int first, int last, const stencil::Sweep& by) const {
    if (!fits(trajectory, first, last))
        throw std::logic_error("phasefield: the trajectory does not hold these steps");
    if (trajectory.every() > 1 && &by != &backward_)
        throw std::logic_error("phasefield: only an adjoint computes states again");
    // Whose points are whose is the same both ways with `shared_`, and nothing is redundant.
    if (!shared_ && trajectory.every() == 1 && by.options().block_steps > 1)
        trajectory.fill_frames();
}

stencil::Double2 Model::total(const stencil::CompensatedSum& sum, double factor) const {
    const auto all = stencil::doubled_sum_over_ranks(sum, tiling_.comm().get());
    const double high = stencil::as_it_is(factor * all.high);
    return {high, std::fma(factor, all.high, -high) + factor * all.low};
}

double Model::rounded(const stencil::CompensatedSum& sum, double factor) const {
    last_sum_ = total(sum, factor);
    return last_sum_.high + last_sum_.low;
}

double Model::forward(double* phi, double m, int first, int last, Trajectory* trajectory,
                      const Observed* observed) {
    if (trajectory)
        trajectory->begin(first, last);
    Forward kernel{frame_, coefficients(m), trajectory, observed,
                   PerThread<LaneSum>(forward_.options().threads)};
    last_sum_ = {};
    if (!observed && (!trajectory || trajectory->every() > 1)) {
        Advance together{kernel};
        forward_.run(phi, own().x.size(), first, last, together);
        return 0.0;
    }
    forward_.run(phi, own().x.size(), first, last, kernel);
    if (!observed)
        return 0.0;
    return rounded(kernel.sums.total(std::identity{}), 0.5 * observed->factor());
}

double Model::misfit(const double* phi, int step, const Observed& observed) const {
    LaneSum sum;
    const auto [x, y] = own();
    for (int row = y.begin; row < y.end; ++row)
        misfit_row(x.begin, x.end, phi + std::ptrdiff_t{row - y.begin} * x.size() - x.begin,
                   observed.row(step, row, Frame::inside), sum);
    return rounded(folded(sum), 0.5 * observed.factor());
}

double Model::adjoint(double* lambda, double m, int first, int last, Trajectory& trajectory,
                      const Observed* observed, Trajectory* kept, bool misfit) {
    read(trajectory, first, last, backward_);
    const Summed summed = misfit ? Summed::both : Summed::slope;
    Adjoint kernel{frame_,
                   coefficients(m),
                   trajectory,
                   observed,
                   kept,
                   summed,
                   PerThread<AdjointSums>(backward_.options().threads)};
    if (trajectory.every() > 1) {
        if (kept)
            throw std::logic_error("phasefield: an adjoint is kept with all states only");
        replay(lambda, first, last, trajectory, kernel.coefficients, observed, summed, kernel.sums);
    } else {
        if (kept)
            kept->begin(first, last);
        backward_.run(lambda, own().x.size(), last, first, kernel);
    }
    if (misfit && observed) {
        last_misfit_ = total(kernel.sums.total(&AdjointSums::misfit), 0.5 * observed->factor());
    } else {
        last_misfit_ = {};
    }
    return rounded(kernel.sums.total(&AdjointSums::slope), parameters_.reaction);
}

void Model::replay(double* lambda, int first, int last, Trajectory& trajectory,
                   const Coefficients& coefficients, const Observed* observed, Summed summed,
                   PerThread<AdjointSums>& sums) {
    const auto count = [this](const stencil::Sent& sent) {
        replayed_.messages += sent.messages;
        replayed_.bytes += sent.values * static_cast<std::int64_t>(sizeof(double));
    };
    count(trajectory.fill_frames());
    Layer<double> known{lambda, own().x.size(), lambda_frame_.data()};
    Layer<double> made{lambda_.data(), own().x.size(), nullptr};
    const auto points = replay_->points(), redundant = replay_->redundant();
    for (int step = last; step > first;) {
        const int kept = trajectory.kept_before(step);
        const int stop = std::max(kept, first);
        if (frame_.size() > 0)
            count(frame_.exchange({&known, 1}));
        Replayed model(frame_, coefficients, trajectory, kept, observed, known, made, summed, sums);
        replay_->run(model, kept, stop, step);
        std::swap(known.own, made.own);
        replayed_.steps += step - stop;
        replayed_.blocks += 1;
        step = stop;
    }
    replayed_.points += replay_->points() - points;
    replayed_.redundant += replay_->redundant() - redundant;
    if (known.own != lambda)
        std::copy_n(known.own, lambda_.size(), lambda);
}

void Model::tangent(double* dphi, double dm, double m, int first, int last, Trajectory& trajectory,
                    Trajectory* kept) {
    read(trajectory, first, last, forward_);
    if (kept)
        kept->begin(first, last);
    Tangent kernel{frame_, coefficients(m, dm), trajectory, kept};
    forward_.run(dphi, own().x.size(), first, last, kernel);
}

double Model::second_order(double* mu, double dm, double m, int first, int last,
                           Trajectory& trajectory, Trajectory& tangent, Trajectory* adjoint,
                           const Observed* observed) {
    read(trajectory, first, last, backward_);
    read(tangent, first, last, backward_);
    if (adjoint)
        read(*adjoint, first, last, backward_);
    SecondOrder kernel{frame_,
                       coefficients(m, dm),
                       trajectory,
                       tangent,
                       adjoint,
                       observed,
                       PerThread<LaneSum>(backward_.options().threads)};
    backward_.run(mu, own().x.size(), last, first, kernel);
    return rounded(kernel.sums.total(std::identity{}), parameters_.reaction);
}

double Model::dot(const double* a, const double* b) const {
    LaneSum sum;
    dot_row(0, static_cast<std::ptrdiff_t>(own().points()), a, b, sum);
    return rounded(folded(sum));
}

} // namespace uzushio::phasefield
