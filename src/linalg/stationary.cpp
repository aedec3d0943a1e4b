#include "linalg/stationary.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "linalg/rows.hpp"

namespace uzushio::linalg {

namespace {

using domain::Index;

class Correction final : public IterativeSolver {
  public:
    Correction(MPI_Comm comm, const Equation& equation, const IterationLimits& limits,
               parallel::Traffic& traffic, parallel::SectionMonitor& sections,
               std::unique_ptr<Preconditioner> preconditioner)
        : IterativeSolver(comm, equation, limits, traffic, sections),
          preconditioner_(std::move(preconditioner)), r_(a().field()), z_(a().field()) {}
    [[nodiscard]] std::size_t bytes() const override {
        return preconditioner_->bytes() + 4 * bytes_of(r_);
    }

  private:
    [[nodiscard]] std::string name() const override { return "multigrid"; }
    void iterate(const Field& f, Field& x) override {
        while (true) {
            a().residual(x, f, r_);
            if (done(std::sqrt(a().dot(r_, r_))))
                return;
            preconditioner_->apply(r_, z_);
            const auto pass = a().section("vector updates", 3);
            a().for_rows([&](const auto& row) {
                const double* __restrict z = GridOperator<double>::row_of(std::as_const(z_), row);
                double* __restrict out = GridOperator<double>::row_of(x, row);
#pragma omp simd
                for (std::int64_t n = 0; n < row.size; ++n)
                    out[n] += z[n];
            });
        }
    }
    std::unique_ptr<Preconditioner> preconditioner_;
    Field r_, z_;
};

/// Jacobi's method or red-black over-relaxation.
class Relaxation final : public IterativeSolver {
  public:
    Relaxation(MPI_Comm comm, const Equation& equation, const IterationLimits& limits,
               parallel::Traffic& traffic, parallel::SectionMonitor& sections, bool red_black,
               double omega)
        : IterativeSolver(comm, equation, limits, traffic, sections), red_black_(red_black),
          omega_(omega), other_(a().field()) {
        if (red_black && omega == 0) {
            int cells = 2;
            for (const Axis& axis : a().axes())
                cells = std::max(cells, axis.cells());
            omega_ = 2 / (1 + std::sin(std::numbers::pi / cells));
        }
        if (!red_black && a().singular())
            omega_ *= 0.9; // at 1 the sign of a checkerboard alternates for ever
        if (!(omega_ > 0 && omega_ < 2))
            throw std::invalid_argument("the relaxation factor omega is between 0 and 2");
    }
    [[nodiscard]] std::size_t bytes() const override { return 3 * bytes_of(other_); }

  private:
    [[nodiscard]] std::string name() const override { return red_black_ ? "sor" : "jacobi"; }
    void iterate(const Field& f, Field& x) override {
        while (true) {
            a().residual(x, f, other_);
            if (done(std::sqrt(a().dot(other_, other_))))
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
    double omega_;
    Field other_;
};

class Diagonal final : public Preconditioner {
  public:
    Diagonal(MPI_Comm comm, const Equation& equation, parallel::Traffic& traffic,
             parallel::SectionMonitor& sections)
        : Diagonal(GridOperator<double>(comm, equation, traffic, sections), sections) {}
    void apply(const domain::Field<double>& r, domain::Field<double>& z) override {
        const parallel::Section section(sections_, "smoothing",
                                        {.bytes = 3.0 * static_cast<double>(bytes_of(factor_))});
        for (std::size_t b = 0; b < r.blocks(); ++b) {
            const auto in = r.view(b);
            const auto out = z.view(b);
            const auto factor = factor_.view(b);
            const auto& cells = r.owned(b);
            for (std::int64_t k = cells.lower[2]; k < cells.upper[2]; ++k)
                for (std::int64_t j = cells.lower[1]; j < cells.upper[1]; ++j) {
                    const Index<3> first{cells.lower[0], j, k};
                    const double* __restrict from = &in(first);
                    const double* __restrict by = &factor(first);
                    double* __restrict to = &out(first);
#pragma omp simd
                    for (std::int64_t n = 0; n < cells.extent(0); ++n)
                        to[n] = by[n] * from[n];
                }
        }
    }
    [[nodiscard]] std::size_t bytes() const override { return bytes_of(factor_); }

  private:
    Diagonal(const GridOperator<double>& a, parallel::SectionMonitor& sections)
        : factor_(a.field()), sections_(sections) {
        a.for_rows([&](const auto& row) {
            double* factor = GridOperator<double>::row_of(factor_, row);
            for (std::int64_t n = 0; n < row.size; ++n)
                factor[n] = -row.inverse(n);
        });
    }
    domain::Field<double> factor_; ///< reciprocals of the diagonal
    parallel::SectionMonitor& sections_;
};

} // namespace

std::unique_ptr<LinearSolver> make_correction(MPI_Comm comm, const Equation& equation,
                                              const IterationLimits& limits,
                                              parallel::Traffic& traffic,
                                              parallel::SectionMonitor& sections,
                                              std::unique_ptr<Preconditioner> preconditioner) {
    return std::make_unique<Correction>(comm, equation, limits, traffic, sections,
                                        std::move(preconditioner));
}

std::unique_ptr<LinearSolver> make_jacobi(MPI_Comm comm, const Equation& equation,
                                          const IterationLimits& limits, parallel::Traffic& traffic,
                                          parallel::SectionMonitor& sections, double omega) {
    return std::make_unique<Relaxation>(comm, equation, limits, traffic, sections, false, omega);
}

std::unique_ptr<LinearSolver> make_sor(MPI_Comm comm, const Equation& equation,
                                       const IterationLimits& limits, parallel::Traffic& traffic,
                                       parallel::SectionMonitor& sections, double omega) {
    return std::make_unique<Relaxation>(comm, equation, limits, traffic, sections, true, omega);
}

std::unique_ptr<Preconditioner> make_diagonal(MPI_Comm comm, const Equation& equation,
                                              parallel::Traffic& traffic,
                                              parallel::SectionMonitor& sections) {
    return std::make_unique<Diagonal>(comm, equation, traffic, sections);
}

} // namespace uzushio::linalg
