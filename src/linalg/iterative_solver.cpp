#include "linalg/iterative_solver.hpp"

#include <algorithm>
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
        const auto pass = a().section("vector updates", 2);
        a().for_slabs([&](int, std::size_t block, const domain::Box<3>& cells) {
            copy_cells<double>(x[block], x_.view(block), cells);
        });
    }
    report_ = {.solver = name()};
    started_ = false;
    norm_of_f_ = copied_norm(f);
    if (!std::isfinite(norm_of_f_))
        throw std::invalid_argument("the right-hand side of an equation has values that are not "
                                    "finite, or too large to be squared");
    a().check_compatibility(f_);
    a().clear_isolated(x_);
    if (norm_of_f_ > 0)
        iterate(f_, x_);
    else
        x_ = a().field();
    a().clear_isolated(x_); // corrections interpolate to them
    if (a().singular())
        a().remove_mean(x_);
    const auto pass = a().section("vector updates", 2);
    a().for_slabs([&](int, std::size_t block, const domain::Box<3>& cells) {
        copy_cells<double>(x_.view(block), x[block], cells);
    });
    return report_;
}

double IterativeSolver::copied_norm(const Sources& f) {
    const auto pass = a().section("vector updates", 2);
    const auto sum = a().sum_of_rows([&](const auto& row, auto& part) {
        double* to = GridOperator<double>::row_of(f_, row);
        copy_row(&f[row.block](row.begin, row.j, row.k), to, row.size);
        a().add_integral(part, row, [&](int n) { return to[n] * to[n]; });
    });
    return std::sqrt(parallel::sum_over_ranks(sum, a().comm()));
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
