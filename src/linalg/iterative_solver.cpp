#include "linalg/iterative_solver.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace uzushio::linalg {

namespace {

/// Copy the cells of a box.
void copy(const domain::View<const double>& in, const domain::View<double>& out,
          const domain::Box<3>& cells) {
    for (std::int64_t k = cells.lower[2]; k < cells.upper[2]; ++k)
        for (std::int64_t j = cells.lower[1]; j < cells.upper[1]; ++j)
            std::copy_n(&in(cells.lower[0], j, k), cells.extent(0), &out(cells.lower[0], j, k));
}

} // namespace

IterativeSolver::IterativeSolver(MPI_Comm comm, const Equation& equation,
                                 const IterationLimits& limits, parallel::Traffic& traffic)
    : operator_(comm, equation, traffic), limits_(limits), f_(operator_.field()),
      x_(operator_.field()) {
    if (!(limits.tolerance > 0) || limits.max_iterations < 1)
        throw std::invalid_argument("an iterative solver needs a tolerance above 0 and at least "
                                    "one iteration");
}

SolveReport IterativeSolver::solve(const Sources& f, const Targets& x) {
    check_arrays(f, a().decomposition(), a().rank());
    check_arrays({x.begin(), x.end()}, a().decomposition(), a().rank());
    for (std::size_t b = 0; b < f.size(); ++b) {
        copy(f[b], f_.view(b), f_.owned(b));
        copy(x[b], x_.view(b), x_.owned(b));
    }
    a().check_compatibility(f_);
    if (a().singular())
        a().remove_mean(f_); // round-off
    report_ = {.solver = name()};
    started_ = false;
    norm_of_f_ = std::sqrt(a().dot(f_, f_));
    if (norm_of_f_ > 0)
        iterate(f_, x_);
    else
        x_ = a().field();
    if (a().singular())
        a().remove_mean(x_);
    for (std::size_t b = 0; b < x.size(); ++b)
        copy(x_.view(b), x[b], x_.owned(b));
    return report_;
}

bool IterativeSolver::done(double norm) {
    if (started_)
        ++report_.iterations;
    started_ = true;
    report_.residual = norm / norm_of_f_;
    report_.converged = report_.residual <= limits_.tolerance;
    if (!std::isfinite(norm))
        throw std::runtime_error(name() + " diverged after " + std::to_string(report_.iterations) +
                                 " iterations: the residual is not finite");
    return report_.converged || report_.iterations >= limits_.max_iterations;
}

std::size_t IterativeSolver::bytes_of(const Field& field) {
    std::size_t values = 0;
    for (std::size_t b = 0; b < field.blocks(); ++b)
        values += static_cast<std::size_t>(field.view(b).box().volume());
    return values * sizeof(double);
}

} // namespace uzushio::linalg
