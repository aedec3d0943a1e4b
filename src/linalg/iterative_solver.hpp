#pragma once

#include <memory>
#include <string_view>

#include "linalg/grid_operator.hpp"
#include "linalg/linear_solver.hpp"

namespace uzushio::linalg {

/// When an iteration ends.
struct IterationLimits {
    double tolerance = 1e-8; ///< of the norm of f - A x, relative to that of f
    int max_iterations = 500;
};

/// Arguments of the functions that create iterative solvers and preconditioners.
struct SolverSetup {
    MPI_Comm comm;
    const Equation& equation;
    IterationLimits limits;             ///< not used by preconditioners
    parallel::Traffic& traffic;         ///< must outlive what is created
    parallel::SectionMonitor& sections; ///< the same
};

/// Approximate inverse of an operator, in single precision, on the blocks of the equation.
class Preconditioner {
  public:
    using Field = domain::Field<float>;
    virtual ~Preconditioner() = default;
    /// Return what follows the name of a method that uses it; empty for the default.
    [[nodiscard]] virtual std::string_view suffix() const { return ""; }
    /// Return the field r whose cells the caller sets.
    [[nodiscard]] virtual Field& input() = 0;
    /// Set `output` to an approximate solution z of A z = r (collective). May change `input`.
    virtual void apply() = 0;
    /// Do the same at the begin of an iteration, when all wavelengths are in r (collective).
    virtual void apply_first() { apply(); }
    [[nodiscard]] virtual const Field& output() const = 0;
    /// Fill the first ghost layer of `output` beyond faces (collective).
    virtual void exchange_output() = 0;
    [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// Common part of the iterative solvers.
class IterativeSolver : public LinearSolver {
  public:
    explicit IterativeSolver(const SolverSetup& setup);

    using LinearSolver::solve;
    /// Throws `std::runtime_error` on all ranks if the residual is no longer finite, and
    /// `std::invalid_argument` if f is not.
    SolveReport solve(const Sources& f, const Targets& x) final;

  protected:
    using Field = domain::Field<double>;
    /// Improve x until `done(norm of the residual)`; x and f have a ghost layer.
    virtual void iterate(const Field& f, Field& x) = 0;

    /// Set r to f - A x for the initial guess x, fill the ghosts of x, and return the norm of r.
    template <class R>
    [[nodiscard]] double initial_residual(const Field& f, Field& x, domain::Field<R>& r) {
        if (!guess_is_zero_)
            return a().residual_norm(x, f, r);
        a().exchange(x);
        const auto pass = a().section("vector updates", 1 + sizeof(R) / double{sizeof(double)});
        a().copy(f, r);
        return norm_of_f_;
    }
    /// Record the norm of the residual, and return whether the iteration has ended. Count an
    /// iteration for each call but the first.
    bool done(double norm);
    [[nodiscard]] GridOperator<double>& a() { return operator_; }
    [[nodiscard]] const GridOperator<double>& a() const { return operator_; }

  private:
    /// Copy f and x to the solver's fields, find the norm of f, and whether x is 0.
    void copy_and_measure(const Sources& f, const Targets& x);
    /// Multiply f and x by a power of 2 with which squares of values of f neither overflow nor
    /// vanish, find the norm of f, and return that factor. Throws `std::invalid_argument` on all
    /// ranks if f is not finite.
    double scale();
    void multiply(double factor, Field& x) const;

    GridOperator<double> operator_;
    IterationLimits limits_;
    Field f_, x_;
    SolveReport report_;
    double norm_of_f_ = 0; ///< of the scaled f
    bool guess_is_zero_ = false;
    bool started_ = false;
};

} // namespace uzushio::linalg
