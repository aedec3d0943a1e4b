#include "linalg/iterative_solver.hpp"

#include <cmath>
#include <stdexcept>

#include "linalg/rows.hpp"

namespace uzushio::linalg {

IterativeSolver::IterativeSolver(MPI_Comm comm, const Equation& equation,
                                 const IterationLimits& limits, parallel::Traffic& traffic,
                                 parallel::SectionMonitor& sections)
    : operator_(comm, equation, traffic, sections), limits_(limits), f_(operator_.field()),
      x_(operator_.field()) {
    if (!(limits.tolerance > 0) || limits.max_iterations < 1)
        throw std::invalid_argument("an iterative solver needs a tolerance above 0 and at least "
                                    "one iteration");
}

SolveReport IterativeSolver::solve(const Sources& f, const Targets& x) {
    check_arrays(a().comm(), f, x, a().decomposition());
    {
        const auto pass = a().section("vector updates", 4);
        for (std::size_t b = 0; b < f.size(); ++b) {
            copy_cells(f[b], f_.view(b), f_.owned(b));
            copy_cells<double>(x[b], x_.view(b), x_.owned(b));
        }
    }
    report_ = {.solver = name()};
    started_ = false;
    norm_of_f_ = std::sqrt(a().dot(f_, f_));
    if (!std::isfinite(norm_of_f_))
        throw std::invalid_argument("the right-hand side of an equation has values that are not "
                                    "finite, or too large to be squared");
    a().check_compatibility(f_);
    a().clear_isolated(x_);
    if (a().singular()) {
        a().remove_mean(f_); // round-off
        norm_of_f_ = std::sqrt(a().dot(f_, f_));
    }
    if (norm_of_f_ > 0)
        iterate(f_, x_);
    else
        x_ = a().field();
    a().clear_isolated(x_); // corrections interpolate to them
    if (a().singular())
        a().remove_mean(x_);
    const auto pass = a().section("vector updates", 2);
    for (std::size_t b = 0; b < x.size(); ++b)
        copy_cells<double>(x_.view(b), x[b], x_.owned(b));
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
                                 " iterations: the residual is not finite. Begin with finite "
                                 "values, and check that b is not negative");
    return report_.converged || report_.iterations >= limits_.max_iterations;
}

} // namespace uzushio::linalg
