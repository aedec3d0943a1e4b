#include "linalg/automatic.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "linalg/anisotropy.hpp"
#include "linalg/blocked_fft_solver.hpp"
#include "linalg/fft_solver.hpp"
#include "linalg/grid_operator.hpp"
#include "linalg/solvers.hpp"

namespace uzushio::linalg {

namespace {

/// Names of the solver that is tried first, and of the one that continues; empty: none applies.
struct Choice {
    std::string_view first, second;
};

/// Return a number from -1 to 1 that depends on a cell alone. Source: G. L. Steele, D. Lea, C. H.
/// Flood, OOPSLA (2014), the mixing function of SplitMix.
double random_value(std::uint64_t cell) {
    std::uint64_t bits = (cell + 1) * 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return std::ldexp(static_cast<double>((bits ^ (bits >> 31)) >> 11), -52) - 1;
}

/// Return the number of iterations that a solver needs for random values (collective), from the
/// residual after a few if these are not enough; infinite if the residual does not fall.
double iterations_of(std::string_view name, const SolverSetup& setup) {
    constexpr int few = 60;
    const auto& [comm, equation, limits, not_counted, not_timed] = setup;
    parallel::Traffic traffic;
    parallel::SectionMonitor sections;
    GridOperator<double> a(comm, equation, traffic, sections);
    domain::Field<double> f = a.field(), x = a.field();
    for (std::size_t block = 0; block < f.blocks(); ++block)
        for_indices(f.owned(block), [&](const domain::Index<3>& at) {
            const std::int64_t row = a.axes()[0].cells(), rows = a.axes()[1].cells();
            f.view(block)(at) =
                random_value(static_cast<std::uint64_t>(at[0] + row * (at[1] + rows * at[2])));
        });
    a.clear_isolated(f);
    if (a.singular())
        a.remove_mean(f);
    const IterationLimits trial{limits.tolerance, std::min(few, limits.max_iterations)};
    const auto solver = make_solver(name, comm, equation, trial, traffic, sections);
    try {
        const SolveReport report = solver->solve(f, x);
        if (report.converged)
            return report.iterations;
        if (report.residual < 1)
            return report.iterations * std::log(limits.tolerance) / std::log(report.residual);
    } catch (const std::runtime_error&) { // it has diverged, on all ranks
    }
    return std::numeric_limits<double>::infinity();
}

Choice choose(const SolverSetup& setup) {
    const Equation& equation = setup.equation;
    const bool is_fast = is_fft_fast(equation);
    if (why_no_fft(equation).empty()) {
        if (is_fast)
            return {"fft", ""};
        return iterations_of("cg", setup) <= setup.limits.max_iterations ? Choice{"cg", "fft"}
                                                                         : Choice{"fft", ""};
    }
    if (!why_no_blocked_fft(setup.comm, equation).empty())
        return {"cg", "bicgstab"};
    // Cost of an iteration of `cg`, in the unit of `blocked_fft_cost`.
    const double cycle = is_anisotropic(setup.comm, equation) ? 60 : 19;
    constexpr int fewest = 4; // of its iterations, on any mesh
    const double cost = is_fast
                            ? blocked_fft_cost(setup.comm, equation, iterations_of("cg/fft", setup))
                            : std::numeric_limits<double>::max();
    if (cost >= fewest * cycle) {
        const double iterations = iterations_of("cg", setup);
        if (iterations <= setup.limits.max_iterations && iterations * cycle <= cost)
            return {"cg", "cg/fft"};
    }
    return {"cg/fft", "cg"};
}

class Automatic final : public LinearSolver {
  public:
    explicit Automatic(const SolverSetup& setup)
        : comm_(setup.comm), equation_(setup.equation), limits_(setup.limits),
          traffic_(setup.traffic), sections_(setup.sections), choice_(choose(setup)),
          first_(make(choice_.first)) {}

    using LinearSolver::solve;
    SolveReport solve(const Sources& f, const Targets& x) override {
        const SolveReport report = first_->solve(f, x);
        if (report.converged || choice_.second.empty())
            return report;
        if (!second_)
            second_ = make(choice_.second);
        SolveReport continued = second_->solve(f, x);
        continued.iterations += report.iterations;
        return continued;
    }
    [[nodiscard]] std::string name() const override { return first_->name(); }
    [[nodiscard]] std::size_t bytes() const override {
        return first_->bytes() + (second_ ? second_->bytes() : 0);
    }

  private:
    [[nodiscard]] std::unique_ptr<LinearSolver> make(std::string_view name) const {
        return make_solver(name, comm_, equation_, limits_, traffic_, sections_);
    }

    MPI_Comm comm_;
    Equation equation_;
    IterationLimits limits_;
    parallel::Traffic& traffic_;
    parallel::SectionMonitor& sections_;
    Choice choice_;
    std::unique_ptr<LinearSolver> first_, second_; ///< the latter from its first use on
};

} // namespace

std::unique_ptr<LinearSolver> make_automatic(const SolverSetup& setup) {
    return std::make_unique<Automatic>(setup);
}

} // namespace uzushio::linalg
