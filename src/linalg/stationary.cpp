#include "linalg/stationary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "linalg/rows.hpp"

namespace uzushio::linalg {

namespace {

class Correction final : public IterativeSolver {
  public:
    Correction(const SolverSetup& setup, std::unique_ptr<Preconditioner> preconditioner)
        : IterativeSolver(setup), preconditioner_(std::move(preconditioner)),
          bytes_of_x_(bytes_of(a().field())) {}
    [[nodiscard]] std::size_t bytes() const override {
        return preconditioner_->bytes() + 2 * bytes_of_x_;
    }

  private:
    [[nodiscard]] std::string name() const override { return "multigrid"; }
    void iterate(const Field& f, Field& x) override {
        if (done(initial_residual(f, x, preconditioner_->input())))
            return;
        preconditioner_->apply_first();
        while (!done(correct(f, x)))
            preconditioner_->apply();
    }

    /// Add the correction to x, set the preconditioner's input to f - A x, and return its norm. The
    /// correction's ghosts are added to those of x, which stay valid.
    double correct(const Field& f, Field& x) {
        preconditioner_->exchange_output();
        const auto& correction = preconditioner_->output();
        auto& residual = preconditioner_->input();
        const auto pass = a().section("residual", 4, true);
        ThreadSums sums(a().threads());
        constexpr std::array layers{1, 0};
        a().for_stages(layers, [&](std::int64_t stage, const auto& row) {
            double* __restrict out = GridOperator<double>::row_of(x, row);
            if (stage == 1) {
                const double* right = GridOperator<double>::row_of(f, row);
                prefetch_row(right + row.stride_j, row.size);
                a().residual_row(row, out, right, GridOperator<double>::first_of(residual, row),
                                 sums[row.thread]);
                return;
            }
            const float* __restrict z = GridOperator<double>::first_of(correction, row);
            prefetch_row(out + row.stride_j, row.size);
#pragma omp simd
            for (std::int64_t n = 0; n < row.size; ++n)
                out[n] += static_cast<double>(z[n]);
        });
        return std::sqrt(parallel::sum_over_ranks(sums.total(), a().comm()));
    }
    std::unique_ptr<Preconditioner> preconditioner_;
    std::size_t bytes_of_x_;
};

/// Jacobi's method or red-black over-relaxation.
class Relaxation final : public IterativeSolver {
  public:
    Relaxation(const SolverSetup& setup, bool red_black)
        : IterativeSolver(setup), red_black_(red_black), other_(a().field()) {
        if (red_black) {
            int cells = 2;
            for (const Axis& axis : a().axes())
                cells = std::max(cells, axis.cells());
            omega_ = 2 / (1 + std::sin(std::numbers::pi / cells));
        } else if (a().singular()) {
            omega_ = 0.9; // at 1 the sign of a checkerboard alternates for ever
        }
    }
    [[nodiscard]] std::size_t bytes() const override { return 3 * bytes_of(other_); }

  private:
    [[nodiscard]] std::string name() const override { return red_black_ ? "sor" : "jacobi"; }
    void iterate(const Field& f, Field& x) override {
        while (true) {
            if (done(a().residual_norm(x, f, other_)))
                return;
            if (red_black_) {
                a().relax(x, f, 0, omega_);
                a().relax(x, f, 1, omega_);
            } else {
                a().jacobi(x, f, other_, omega_);
                std::swap(x, other_);
            }
        }
    }
    bool red_black_;
    double omega_ = 1;
    Field other_;
};

class Diagonal final : public Preconditioner {
  public:
    explicit Diagonal(const SolverSetup& setup)
        : a_(setup.comm, setup.equation, setup.traffic, setup.sections), factor_(a_.field()),
          r_(a_.field()), z_(a_.field()) {
        a_.for_rows([&](const auto& row) {
            float* factor = GridOperator<float>::row_of(factor_, row);
            for (std::int64_t n = 0; n < row.size; ++n)
                factor[n] = -row.inverse(n);
        });
    }
    [[nodiscard]] std::string_view suffix() const override { return "/diagonal"; }
    [[nodiscard]] Field& input() override { return r_; }
    [[nodiscard]] const Field& output() const override { return z_; }
    void exchange_output() override { a_.exchange(z_); }
    void apply() override {
        const auto pass = a_.section("smoothing", 3);
        a_.for_rows([&](const auto& row) {
            const float* __restrict from = GridOperator<float>::row_of(std::as_const(r_), row);
            const float* __restrict by = GridOperator<float>::row_of(std::as_const(factor_), row);
            float* __restrict to = GridOperator<float>::row_of(z_, row);
#pragma omp simd
            for (std::int64_t n = 0; n < row.size; ++n)
                to[n] = by[n] * from[n];
        });
    }
    [[nodiscard]] std::size_t bytes() const override { return 3 * bytes_of(factor_); }

  private:
    GridOperator<float> a_;
    Field factor_, r_, z_; ///< reciprocals of the diagonal
};

} // namespace

std::unique_ptr<LinearSolver> make_correction(const SolverSetup& setup,
                                              std::unique_ptr<Preconditioner> preconditioner) {
    return std::make_unique<Correction>(setup, std::move(preconditioner));
}

std::unique_ptr<LinearSolver> make_jacobi(const SolverSetup& setup) {
    return std::make_unique<Relaxation>(setup, false);
}

std::unique_ptr<LinearSolver> make_sor(const SolverSetup& setup) {
    return std::make_unique<Relaxation>(setup, true);
}

std::unique_ptr<Preconditioner> make_diagonal(const SolverSetup& setup) {
    return std::make_unique<Diagonal>(setup);
}

} // namespace uzushio::linalg
