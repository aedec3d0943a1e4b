#include "channel/solver.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>
#include <tuple>

namespace uzushio::channel {

using parallel::block;
using parallel::Exchange;
using parallel::Planes;
using parallel::Range;
using parallel::Section;
using spectral::Complex;

namespace {

/// Three-substep Runge–Kutta of Wray; P. R. Spalart, R. D. Moser and M. M. Rogers,
/// J. Comput. Phys. 96 (1991), table 1 with equal shares of Crank–Nicolson.
struct Stage {
    double gamma, zeta;
};
constexpr std::array<Stage, 3> runge_kutta = {
    {{8.0 / 15.0, 0.0}, {5.0 / 12.0, -17.0 / 60.0}, {3.0 / 4.0, -5.0 / 12.0}}};

const Parameters& checked(const Parameters& parameters) {
    check(parameters);
    return parameters;
}

} // namespace

Solver::Solver(const Parameters& parameters, MPI_Comm comm)
    : parameters_(checked(parameters)), wall_(parameters.faces),
      grid_(comm, parameters.py, parameters.pz),
      planes_(block(wall_.cells(), grid_.pz(), grid_.column().rank())),
      convection_(parameters, grid_, wall_, watch_, traffic_),
      modes_(convection_.transform().local_modes()), fields_(10, planes_.size(), modes_),
      halo_(grid_, static_cast<std::size_t>(2 * modes_), 4, watch_, traffic_) {
    const auto& transform = convection_.transform();
    const double two_pi = 2 * std::numbers::pi;
    for (int j = 0; j < transform.modes().columns_y(); ++j)
        for (int i = transform.waves().begin; i < transform.waves().end; ++i) {
            kx_.push_back(two_pi * i / parameters.lx);
            ky_.push_back(two_pi * transform.modes().wave_y(j) / parameters.ly);
            k2_.push_back(kx_.back() * kx_.back() + ky_.back() * ky_.back());
        }
    // The mean pressure is arbitrary: a shift makes its singular system regular, and its
    // right-hand side is zero.
    poisson_shift_ = k2_;
    if (holds_mean())
        poisson_shift_[0] = 1.0;

    const auto velocity = [&](int first) {
        return Velocity{fields_.view(first), fields_.view(first + 1), fields_.view(first + 2)};
    };
    now_ = velocity(0);
    n_ = velocity(3);
    old_ = velocity(6);
    p_ = fields_.view(9);
    row_ = parallel::AlignedArray<double>(static_cast<std::size_t>(2 * modes_));
    mean_response_.resize(static_cast<std::size_t>(wall_.cells()));
    mean_factor_.resize(static_cast<std::size_t>(wall_.cells()));
    tridiagonal_ = linalg::make_tridiagonal(parameters.scheme,
                                            {grid_, wall_.cells(), modes_, 2, 8, watch_, traffic_});
}

std::size_t Solver::bytes() const {
    return fields_.bytes() + row_.bytes() + halo_.bytes() + convection_.bytes() +
           tridiagonal_->bytes();
}

double Solver::step(double cfl, double longest) {
    double dt = 0;
    pressure_gradient_ =
        parameters_.forcing == Forcing::pressure_gradient ? parameters_.drive : 0.0;
    for (std::size_t stage = 0; stage < runge_kutta.size(); ++stage) {
        if (stage > 0) {
            convection_.evaluate(now_, n_);
        } else {
            fastest_rate_ = convection_.evaluate_with_rate(now_, n_);
            MPI_Allreduce(MPI_IN_PLACE, &fastest_rate_, 1, MPI_DOUBLE, MPI_MAX, grid_.all().get());
            traffic_.add(Exchange::reduction, 1, sizeof(double));
            watch_.lap(Section::wait);
            if (!std::isfinite(fastest_rate_))
                return std::numeric_limits<double>::quiet_NaN();
            dt = std::min(longest, fastest_rate_ > 0 ? cfl / fastest_rate_ : longest);
        }
        const Substep s{dt, runge_kutta[stage].gamma, runge_kutta[stage].zeta};
        const double time = s.whole() * dt;
        const linalg::Stage stages[] = {
            momentum(s), projection(now_, time, 0.5 * time * parameters_.viscosity, true)};
        tridiagonal_->solve(stages);
        hold_flow_rate(s);
        exchange_ghosts();
        std::swap(n_, old_);
    }
    return dt;
}

linalg::Stage Solver::momentum(const Substep& s) {
    const double a = 0.5 * s.whole() * s.dt * parameters_.viscosity;
    helmholtz(wall_.at_centres(), a, centre_rows_);
    helmholtz(wall_.at_faces(), a, face_rows_);
    // Once a chunk's right-hand side is made, its old convective terms are free for the factors.
    return {{{&centre_rows_, k2_.data(), {now_.u, now_.v}, old_.u},
             {&face_rows_, k2_.data(), {now_.w}, old_.w}},
            {},
            [this, s](Range modes) { explicit_terms(s, modes); },
            nullptr};
}

linalg::Stage Solver::projection(const Velocity& velocity, double time, double diffusion,
                                 bool keep_pressure) {
    assert(time > 0);
    // The old convective terms are free until the next substep: the potential and its factors.
    return {{{&wall_.pressure(), poisson_shift_.data(), {old_.u}, old_.w}},
            {velocity.w},
            [=, this](Range modes) { make_divergence(velocity, time, diffusion, modes); },
            [=, this](Range modes) { correct(velocity, time, keep_pressure, modes); }};
}

void Solver::exchange_ghosts() {
    const Planes up[] = {now_.u, now_.v, now_.w};
    const Planes down[] = {now_.u, now_.v, now_.w, p_};
    halo_.exchange(up, down);
}

void Solver::hold_flow_rate(const Substep& s) {
    if (parameters_.forcing != Forcing::flow_rate)
        return;
    // The profile that a unit pressure gradient adds in this substep: (1 - a D) g = push.
    const double push = s.whole() * s.dt;
    auto& g = mean_response_;
    double response = 0;
    for (std::size_t k = 0; k < g.size(); ++k) {
        const double lower = k > 0 ? centre_rows_.lower[k] : 0.0;
        const double pivot =
            1.0 / (centre_rows_.diagonal[k] - (k > 0 ? lower * mean_factor_[k - 1] : 0.0));
        mean_factor_[k] = centre_rows_.upper[k] * pivot;
        g[k] = (push - (k > 0 ? lower * g[k - 1] : 0.0)) * pivot;
    }
    for (std::size_t k = g.size(); k-- > 0;) {
        if (k + 1 < g.size())
            g[k] -= mean_factor_[k] * g[k + 1];
        response += 0.5 * wall_.height(static_cast<int>(k)) * g[k];
    }
    const double gradient = (parameters_.drive - bulk_velocity()) / response;
    traffic_.add(Exchange::reduction, 1, sizeof(double));
    if (holds_mean())
        for (int k = 0; k < planes_.size(); ++k)
            now_.u.re(k)[0] += gradient * g[static_cast<std::size_t>(planes_.begin + k)];
    pressure_gradient_ += s.whole() * gradient;
}

void Solver::add_mode(int kx, int ky, std::span<const Complex> u, std::span<const Complex> v,
                      std::span<const Complex> w) {
    const auto& transform = convection_.transform();
    const auto& modes = transform.modes();
    if (kx < 0 || kx >= modes.kx || std::abs(ky) >= modes.ky)
        throw std::invalid_argument("the mode (" + std::to_string(kx) + ", " + std::to_string(ky) +
                                    ") is not kept on this grid");
    const auto n = static_cast<std::size_t>(wall_.cells());
    if (u.size() != n || v.size() != n || w.size() != n)
        throw std::invalid_argument("a mode needs one value per cell in z");
    if (kx < transform.waves().begin || kx >= transform.waves().end)
        return;
    const auto add = [&](int column, bool conjugate) {
        const int m = column * transform.waves().size() + kx - transform.waves().begin;
        for (int k = 0; k < planes_.size(); ++k) {
            const auto global = static_cast<std::size_t>(planes_.begin + k);
            const auto put = [&](const Planes& field, Complex value) {
                field.re(k)[m] += value.real();
                field.im(k)[m] += conjugate ? -value.imag() : value.imag();
            };
            put(now_.u, u[global]);
            put(now_.v, v[global]);
            if (global + 1 < n)
                put(now_.w, w[global]);
        }
    };
    const int column = ky >= 0 ? ky : ky + modes.columns_y();
    add(column, false);
    if (kx == 0 && ky != 0)
        add(ky > 0 ? modes.columns_y() - ky : -ky, true);
}

void Solver::settle() {
    for (int k = 0; k < planes_.size(); ++k)
        std::fill_n(p_.re(k), 2 * modes_, 0.0);
    const linalg::Stage solenoidal[] = {projection(now_, 1.0, 0.0, false)};
    tridiagonal_->solve(solenoidal);
    exchange_ghosts();
    // The pressure makes the acceleration free of divergence too.
    convection_.evaluate(now_, n_);
    const linalg::Stage balanced[] = {projection(n_, 1.0, 0.0, true)};
    tridiagonal_->solve(balanced);
    exchange_ghosts();
}

void Solver::refresh() { exchange_ghosts(); }

double Solver::measure_rate() {
    const auto counters = std::pair(traffic_, watch_); // of steps alone
    // The new convective terms are scratch between steps.
    double rate = convection_.evaluate_with_rate(now_, n_);
    MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_MAX, grid_.all().get());
    std::tie(traffic_, watch_) = counters;
    return rate;
}

void Solver::use_wisdom(const std::string& wisdom) {
    if (spectral::import_wisdom(wisdom))
        convection_.transform().replan();
}

} // namespace uzushio::channel
