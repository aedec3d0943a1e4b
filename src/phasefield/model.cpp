#include "phasefield/model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "phasefield/kernels.hpp"

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

/// The widest frame that any rank needs: those at an edge of the domain may need less.
int frame_width(const stencil::Sweep& forward, const stencil::Sweep& backward) {
    int width = std::max(reach(forward), reach(backward));
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
      frame_(tiling_, frame_width(forward_, backward_)), shared_(blocking.scheme == "diamond") {}

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
    // Whose points are whose is the same both ways with `shared_`, and nothing is redundant.
    if (!shared_ && by.options().block_steps > 1)
        trajectory.fill_frames();
}

double Model::total(const stencil::CompensatedSum& sum, double factor) const {
    const auto all = stencil::doubled_sum_over_ranks(sum, tiling_.comm().get());
    const double high = stencil::as_it_is(factor * all.high);
    last_sum_ = {high, std::fma(factor, all.high, -high) + factor * all.low};
    return last_sum_.high + last_sum_.low;
}

double Model::forward(double* phi, double m, int first, int last, Trajectory* trajectory,
                      const Observed* observed) {
    if (trajectory)
        trajectory->begin(first, last);
    Forward kernel{frame_, coefficients(m), trajectory, observed,
                   ThreadSums(forward_.options().threads)};
    forward_.run(phi, own().x.size(), first, last, kernel);
    last_sum_ = {};
    if (!observed)
        return 0.0;
    return total(kernel.sums.total(), 0.5 * observed->factor());
}

double Model::misfit(const double* phi, int step, const Observed& observed) const {
    LaneSum sum;
    const auto [x, y] = own();
    for (int row = y.begin; row < y.end; ++row)
        misfit_row(x.begin, x.end, phi + std::ptrdiff_t{row - y.begin} * x.size() - x.begin,
                   observed.row(step, row, Frame::inside), sum);
    return total(folded(sum), 0.5 * observed.factor());
}

double Model::adjoint(double* lambda, double m, int first, int last, Trajectory& trajectory,
                      const Observed* observed, Trajectory* kept) {
    read(trajectory, first, last, backward_);
    if (kept)
        kept->begin(first, last);
    Adjoint kernel{frame_,     coefficients(m),
                   trajectory, observed,
                   kept,       ThreadSums(backward_.options().threads)};
    backward_.run(lambda, own().x.size(), last, first, kernel);
    return total(kernel.sums.total(), parameters_.reaction);
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
                       ThreadSums(backward_.options().threads)};
    backward_.run(mu, own().x.size(), last, first, kernel);
    return total(kernel.sums.total(), parameters_.reaction);
}

double Model::dot(const double* a, const double* b) const {
    LaneSum sum;
    dot_row(0, static_cast<std::ptrdiff_t>(own().points()), a, b, sum);
    return total(folded(sum));
}

} // namespace uzushio::phasefield
