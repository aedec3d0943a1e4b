#include "linalg/iterative_solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "linalg/rows.hpp"

namespace uzushio::linalg {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

} // namespace

IterativeSolver::IterativeSolver(const SolverSetup& setup)
    : operator_(setup.comm, setup.equation, setup.traffic, setup.sections), limits_(setup.limits),
      f_(operator_.field()), x_(operator_.field()) {
    if (!(limits_.tolerance > 0) || limits_.max_iterations < 1)
        throw std::invalid_argument("an iterative solver needs a tolerance above 0 and at least "
                                    "one iteration");
}

SolveReport IterativeSolver::solve(const Sources& f, const Targets& x) {
    check_arrays(a().comm(), f, x, a().decomposition());
    report_ = {.solver = name()};
    started_ = false;
    copy_and_measure(f, x);
    constexpr double extreme = 1e20; // squares and values in single precision are in range
    const bool scaled = !(norm_of_f_ > 1 / extreme && norm_of_f_ < extreme);
    const double factor = scaled ? scale() : 1;
    a().check_compatibility(f_);
    a().clear_isolated(x_);
    if (norm_of_f_ > 0)
        iterate(f_, x_);
    else
        x_ = a().field();
    a().clear_isolated(x_); // corrections interpolate to them
    if (a().singular())
        a().remove_mean(x_);
    if (factor != 1)
        multiply(1 / factor, x_);
    const auto pass = a().section("vector updates", 2);
    a().for_slabs([&](int, std::size_t block, const domain::Box<3>& cells) {
        copy_cells<double>(x_.view(block), x[block], cells);
    });
    return report_;
}

void IterativeSolver::copy_and_measure(const Sources& f, const Targets& x) {
    const auto pass = a().section("vector updates", 4);
    const auto sums = a().sums_of_rows<2>([&](const auto& row, auto& parts) {
        const domain::Index<3> first{row.begin, row.j, row.k};
        double* to = GridOperator<double>::row_of(f_, row);
        copy_row(&f[row.block](first), to, row.size);
        a().add_integral(parts[0], row, [&](int n) { return to[n] * to[n]; });
        const double* guess = &x[row.block](first);
        copy_row(guess, GridOperator<double>::row_of(x_, row), row.size);
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t n = 0; n < row.size; ++n)
            sum += std::abs(guess[n]);
        parts[1].add(sum);
    });
    std::array<double, 2> totals{};
    parallel::sum_over_ranks(sums.data(), totals.data(), 2, a().comm());
    norm_of_f_ = std::sqrt(totals[0]);
    guess_is_zero_ = totals[1] == 0;
}

double IterativeSolver::scale() {
    double largest = 0;
    for (std::size_t block = 0; block < f_.blocks(); ++block)
        for_indices(f_.owned(block), [&](const domain::Index<3>& at) {
            const double value = std::abs(f_.view(block)(at));
            largest = value <= largest ? largest : std::isfinite(value) ? value : infinity;
        });
    MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, a().comm());
    if (largest == infinity)
        throw std::invalid_argument("the right-hand side of an equation has values that are not "
                                    "finite");
    if (largest == 0)
        return 1;
    // A power of 2, and its reciprocal, that are not rounded.
    const double factor = std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000));
    multiply(factor, f_);
    multiply(factor, x_);
    norm_of_f_ = std::sqrt(a().dot(f_, f_));
    if (!(norm_of_f_ > 0) || !std::isfinite(norm_of_f_))
        throw std::invalid_argument("the volumes of an equation's cells are too small or too large "
                                    "for sums of squares");
    return factor;
}

void IterativeSolver::multiply(double factor, Field& x) const {
    a().for_rows([&](const auto& row) {
        double* values = GridOperator<double>::row_of(x, row);
#pragma omp simd
        for (std::int64_t n = 0; n < row.size; ++n)
            values[n] *= factor;
    });
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
                                 "values, or use another solver");
    return report_.converged || report_.iterations >= limits_.max_iterations;
}

} // namespace uzushio::linalg
