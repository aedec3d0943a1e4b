#include "linalg/krylov.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace uzushio::linalg {

namespace {

/// Krylov method with work fields.
template <std::size_t Fields> class Krylov : public IterativeSolver {
  public:
    Krylov(const SolverSetup& setup, std::unique_ptr<Preconditioner> preconditioner)
        : IterativeSolver(setup), comm_(setup.comm), preconditioner_(std::move(preconditioner)) {
        for (std::size_t i = 0; i < Fields; ++i)
            fields_.push_back(a().field());
    }
    [[nodiscard]] std::size_t bytes() const override {
        return preconditioner_->bytes() + (Fields + 2) * bytes_of(fields_[0]);
    }

  protected:
    using Field = domain::Field<double>;
    [[nodiscard]] virtual std::string_view method() const = 0;
    Field& field(std::size_t i) { return fields_[i]; }
    [[nodiscard]] Preconditioner& preconditioner() { return *preconditioner_; }
    void precondition(const Field& r, Field& z) {
        {
            const auto pass = a().section("vector updates", 1.5);
            a().copy(r, preconditioner_->input());
        }
        preconditioner_->apply();
        const auto pass = a().section("vector updates", 1.5);
        a().copy(preconditioner_->output(), z);
    }
    [[nodiscard]] MPI_Comm comm() const { return comm_; }

    /// Call `change(n, pointers)` for each row, with pointers to the first cell in each field.
    /// A cell reads and writes `values` values.
    template <class Change, class... Args>
    void for_each(double values, Change&& change, Args&... fields) {
        const auto pass = a().section("vector updates", values);
        a().for_rows([&](const auto& row) {
            const auto of_row = change; // a copy of its factors stays in registers
            of_row(row.size, GridOperator<double>::row_of(fields, row)...);
        });
    }
    /// y += factor x
    void add(double factor, const Field& x, Field& y) {
        for_each(
            3,
            [=](std::int64_t n, const double* in, double* out) {
#pragma omp simd
                for (std::int64_t i = 0; i < n; ++i)
                    out[i] += factor * in[i];
            },
            x, y);
    }
    /// Set cells and ghosts to 0.
    void set_zero(Field& x) {
        const auto pass = a().section("vector updates", 1);
        for (std::size_t b = 0; b < x.blocks(); ++b) {
            const auto view = x.view(b);
            const Slabs slabs(view.box(), a().threads());
            on_threads(a().threads(), slabs.count(), [&](int slab) {
                const domain::Box<3> part = slabs.part(view.box(), slab);
                std::fill_n(&view(part.lower), part.volume(), 0.0);
            });
        }
    }
    /// y = x + factor y
    void scale_and_add(const Field& x, double factor, Field& y) {
        for_each(
            3,
            [=](std::int64_t n, const double* in, double* out) {
#pragma omp simd
                for (std::int64_t i = 0; i < n; ++i)
                    out[i] = in[i] + factor * out[i];
            },
            x, y);
    }

  private:
    [[nodiscard]] std::string name() const final {
        return std::string(method()) + std::string(preconditioner_->suffix());
    }
    MPI_Comm comm_;
    std::unique_ptr<Preconditioner> preconditioner_;
    std::vector<Field> fields_;
};

class Cg final : public Krylov<3> {
    using Krylov::Krylov;
    [[nodiscard]] std::string_view method() const override { return "cg"; }

    void iterate(const Field& f, Field& x) override {
        Field& r = field(0);
        Field& p = field(1);
        Field& q = field(2);
        if (done(initial_residual(f, x, r)))
            return;
        {
            const auto pass = a().section("vector updates", 1.5);
            a().copy(r, preconditioner().input());
        }
        preconditioner().apply_first();
        set_zero(p); // values that are not finite stay so times 0
        double rz = products(r, r)[0];
        double beta = 0;
        while (true) {
            const double alpha = rz / turn(beta, p, q);
            if (done(move_along(alpha, p, q, x, r)))
                return;
            preconditioner().apply();
            // z (r - r before) = -alpha z q, so the residual before needs no field.
            const auto [zq, next] = products(q, r);
            beta = -alpha * zq / rz;
            rz = next;
        }
    }

    /// x += alpha p, r -= alpha q: set the preconditioner's input to r, and return its norm.
    double move_along(double alpha, const Field& p, const Field& q, Field& x, Field& r) {
        const auto pass = a().section("vector updates", 6.5);
        auto& single = preconditioner().input();
        const auto sum = a().sum_of_rows([&](const auto& row, auto& part) {
            const double* __restrict pp = GridOperator<double>::row_of(p, row);
            const double* __restrict qq = GridOperator<double>::row_of(q, row);
            double* __restrict xx = GridOperator<double>::row_of(x, row);
            double* __restrict rr = GridOperator<double>::row_of(r, row);
            float* __restrict in = GridOperator<double>::first_of(single, row);
            const double factor = alpha; // in a register
#pragma omp simd
            for (std::int64_t i = 0; i < row.size; ++i) {
                xx[i] += factor * pp[i];
                rr[i] -= factor * qq[i];
                in[i] = static_cast<float>(rr[i]);
            }
            a().add_integral(part, row, [&](int i) { return rr[i] * rr[i]; });
        });
        return std::sqrt(parallel::sum_over_ranks(sum, comm()));
    }
    /// Return the integrals of z q and z r, where z is the preconditioner's output.
    [[nodiscard]] std::array<double, 2> products(const Field& q, const Field& r) {
        const auto pass = a().section("reductions", 2.5);
        const auto& output = preconditioner().output();
        const auto sums = a().sums_of_rows<2>([&](const auto& row, auto& parts) {
            const float* z = GridOperator<double>::first_of(output, row);
            const double* qq = GridOperator<double>::row_of(q, row);
            const double* rr = GridOperator<double>::row_of(r, row);
            a().add_integral(parts[0], row, [&](int i) { return double{z[i]} * qq[i]; });
            a().add_integral(parts[1], row, [&](int i) { return double{z[i]} * rr[i]; });
        });
        std::array<double, 2> values{};
        parallel::sum_over_ranks(sums.data(), values.data(), 2, comm());
        return values;
    }
    /// p = z + beta p, q = A p: return the integral of p q. Ghosts of p are computed from those of
    /// z, and stay valid.
    double turn(double beta, Field& p, Field& q) {
        preconditioner().exchange_output();
        const auto& output = preconditioner().output();
        const auto pass = a().section("matrix-vector product", 3.5, true);
        ThreadSums sums(a().threads());
        constexpr std::array layers{1, 0};
        a().for_stages(layers, [&](std::int64_t stage, const auto& row) {
            double* __restrict pp = GridOperator<double>::row_of(p, row);
            if (stage == 1) {
                a().apply_row(row, pp, GridOperator<double>::row_of(q, row), sums[row.thread]);
                return;
            }
            const float* __restrict z = GridOperator<double>::first_of(output, row);
            const double factor = beta; // in a register
#pragma omp simd
            for (std::int64_t i = 0; i < row.size; ++i)
                pp[i] = double{z[i]} + factor * pp[i];
        });
        return parallel::sum_over_ranks(sums.total(), comm());
    }
};

class PipelinedCg final : public Krylov<9> {
    using Krylov::Krylov;
    [[nodiscard]] std::string_view method() const override { return "pipelined_cg"; }

    /// Recurrences lose what the preconditioner's single precision does not see: their vectors are
    /// computed anew each time that the residual has fallen by this factor, and after so many
    /// iterations.
    static constexpr double replacement_factor = 1e-3;
    static constexpr int replacement_interval = 12;

    void iterate(const Field& f, Field& x) override {
        Field &r = field(0), &u = field(1), &w = field(2), &m = field(3), &n = field(4);
        Field &p = field(5), &s = field(6), &q = field(7), &z = field(8);
        for (Field* field : {&p, &s, &q, &z}) // values that are not finite stay so times 0
            set_zero(*field);
        const auto start = [&] {
            a().residual(x, f, r);
            precondition(r, u);
            a().apply(u, w);
        };
        start();
        double eta = 0;            // integral of p A p; 0: there is no direction yet
        double replaced_norm = -1; // of the residual when vectors were computed last
        int since = 0;             // iterations since then
        bool counted = false;      // this residual was already passed to `done`
        while (true) {
            const std::array parts = [&] {
                const auto pass = a().section("reductions", 6);
                return std::array{a().partial_dot(r, u), a().partial_dot(w, u),
                                  a().partial_dot(r, r), a().partial_dot(s, u)};
            }();
            parallel::PendingSums pending(parts, comm());
            precondition(w, m);
            a().apply(m, n);
            const std::vector<double> sums = [&] {
                const auto wait = a().section("reductions", 0);
                return pending.wait();
            }();
            const auto [gamma, delta, square, sigma] =
                std::array{sums[0], sums[1], sums[2], sums[3]};
            const double norm = std::sqrt(square);
            if (!std::exchange(counted, false) && done(norm))
                return;
            if (replaced_norm < 0)
                replaced_norm = norm;
            if (norm < replacement_factor * replaced_norm || since == replacement_interval) {
                start();
                a().apply(p, s);
                precondition(s, q);
                a().apply(q, z);
                replaced_norm = -1;
                since = 0;
                counted = true;
                continue;
            }
            ++since;
            // The new direction is conjugate to the last one, also if the preconditioner is not
            // symmetric.
            const double beta = eta == 0 ? 0 : -sigma / eta;
            eta = delta + beta * sigma;
            const double alpha = gamma / eta;
            for_each(
                18, // reads ten fields, writes eight
                [=](std::int64_t count, const double* nn, const double* mm, double* zz, double* qq,
                    double* ss, double* pp, double* xx, double* rr, double* uu, double* ww) {
#pragma omp simd
                    for (std::int64_t i = 0; i < count; ++i) {
                        zz[i] = nn[i] + beta * zz[i];
                        qq[i] = mm[i] + beta * qq[i];
                        ss[i] = ww[i] + beta * ss[i];
                        pp[i] = uu[i] + beta * pp[i];
                        xx[i] += alpha * pp[i];
                        rr[i] -= alpha * ss[i];
                        uu[i] -= alpha * qq[i];
                        ww[i] -= alpha * zz[i];
                    }
                },
                n, m, z, q, s, p, x, r, u, w);
        }
    }
};

class BiCgStab final : public Krylov<7> {
    using Krylov::Krylov;
    [[nodiscard]] std::string_view method() const override { return "bicgstab"; }

    void iterate(const Field& f, Field& x) override {
        Field &r = field(0), &r0 = field(1), &p = field(2), &v = field(3);
        Field &y = field(4), &t = field(5), &z = field(6);
        a().residual(x, f, r);
        a().copy(r, r0);
        a().copy(r, p);
        double rho = a().dot(r0, r);
        if (done(std::sqrt(rho)))
            return;
        while (true) {
            precondition(p, y);
            a().apply(y, v);
            const double alpha = rho / a().dot(r0, v);
            add(alpha, y, x);
            add(-alpha, v, r);
            precondition(r, z);
            a().apply(z, t);
            const double tt = a().dot(t, t);
            const double omega = tt > 0 ? a().dot(t, r) / tt : 0;
            add(omega, z, x);
            add(-omega, t, r);
            if (done(std::sqrt(a().dot(r, r))))
                return;
            const double next = a().dot(r0, r);
            const double beta = next / rho * alpha / omega;
            rho = next;
            add(-omega, v, p);
            scale_and_add(r, beta, p);
        }
    }
};

} // namespace

std::unique_ptr<LinearSolver> make_cg(const SolverSetup& setup,
                                      std::unique_ptr<Preconditioner> preconditioner) {
    return std::make_unique<Cg>(setup, std::move(preconditioner));
}

std::unique_ptr<LinearSolver> make_pipelined_cg(const SolverSetup& setup,
                                                std::unique_ptr<Preconditioner> preconditioner) {
    return std::make_unique<PipelinedCg>(setup, std::move(preconditioner));
}

std::unique_ptr<LinearSolver> make_bicgstab(const SolverSetup& setup,
                                            std::unique_ptr<Preconditioner> preconditioner) {
    return std::make_unique<BiCgStab>(setup, std::move(preconditioner));
}

} // namespace uzushio::linalg
