#include "solvers/channel/solver.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>

#include "domain/next_step.hpp"
#include "solvers/channel/thomas.hpp"

namespace uzushio::channel {

using parallel::block;
using parallel::Exchange;
using parallel::Range;
namespace section = parallel::section;

namespace {

/// Three-substep Runge–Kutta of Wray; P. R. Spalart, R. D. Moser and M. M. Rogers,
/// J. Comput. Phys. 96 (1991), table 1 with equal shares of Crank–Nicolson.
struct Coefficients {
    double gamma, zeta;
};
constexpr std::array<Coefficients, 3> runge_kutta = {
    {{8.0 / 15.0, 0.0}, {5.0 / 12.0, -17.0 / 60.0}, {3.0 / 4.0, -5.0 / 12.0}}};

/// Operations of the kernels of a substep for one mode of one plane.
constexpr double explicit_flops = 90, divergence_flops = 18, gradient_flops = 22;

/// Return the parameters with the minimum of the threads of all ranks, one if several threads must
/// not call MPI (collective).
Parameters agreed(Parameters parameters, MPI_Comm comm) {
    check(parameters);
    int level = MPI_THREAD_SINGLE, ranks = 1;
    MPI_Query_thread(&level);
    MPI_Comm_size(comm, &ranks);
    if (ranks > 1 && level < MPI_THREAD_SERIALIZED)
        parameters.threads = 1;
    MPI_Allreduce(MPI_IN_PLACE, &parameters.threads, 1, MPI_INT, MPI_MIN, comm);
    return parameters;
}

} // namespace

Solver::Solver(const Parameters& parameters, MPI_Comm comm, parallel::SectionMonitor& sections)
    : parameters_(agreed(parameters, comm)), wall_(parameters.faces),
      grid_(comm, parameters.py, parameters.pz, parameters_.threads),
      planes_(block(wall_.cells(), grid_.pz(), grid_.column().rank())), sections_(sections),
      convection_(parameters_, grid_, wall_, sections_, traffic_),
      modes_(convection_.transform().local_modes()), fields_(10, planes_.size(), modes_),
      halo_(grid_, static_cast<std::size_t>(2 * modes_), 4, sections_, traffic_) {
    const auto& transform = convection_.transform();
    const double two_pi = 2 * std::numbers::pi;
    for (int j = 0; j < transform.modes().columns_y(); ++j)
        for (int i = transform.waves().begin; i < transform.waves().end; ++i) {
            kx_.push_back(two_pi * i / parameters.lx);
            ky_.push_back(two_pi * transform.modes().wave_y(j) / parameters.ly);
            k2_.push_back(kx_.back() * kx_.back() + ky_.back() * ky_.back());
        }
    // The mean pressure is arbitrary and its system singular: a shift makes it regular, with a
    // right-hand side of zero.
    poisson_shift_ = k2_;
    if (holds_mean())
        poisson_shift_[0] = 1.0;

    const auto velocity = [&](int first) {
        return Velocity{fields_.view(first), fields_.view(first + 1), fields_.view(first + 2)};
    };
    velocity_ = velocity(0);
    terms_ = velocity(3);
    previous_terms_ = velocity(6);
    p_ = fields_.view(9);
    row_ = parallel::AlignedArray<double>(static_cast<std::size_t>(2 * modes_));
    mean_response_.resize(static_cast<std::size_t>(wall_.cells()));
    mean_factors_.resize(static_cast<std::size_t>(wall_.cells()));
    tridiagonal_ = make_tridiagonal(parameters.scheme, {grid_, wall_.cells(), modes_, 2, max_values,
                                                        sections_, traffic_, parameters_.threads});
}

std::size_t Solver::bytes() const {
    return fields_.bytes() + row_.bytes() + halo_.bytes() + convection_.bytes() +
           tridiagonal_->bytes();
}

double Solver::step(double cfl, double max_dt, double left) {
    fastest_rate_ = convection_.evaluate_with_rate(velocity_, terms_);
    MPI_Allreduce(MPI_IN_PLACE, &fastest_rate_, 1, MPI_DOUBLE, MPI_MAX, grid_.all().get());
    traffic_.add(Exchange::reduction, 1, sizeof(double));
    sections_.lap(section::wait);
    if (!std::isfinite(fastest_rate_))
        return std::numeric_limits<double>::quiet_NaN();
    const double dt =
        domain::next_step(std::min(max_dt, fastest_rate_ > 0 ? cfl / fastest_rate_ : max_dt), left);
    advance(dt);
    return dt;
}

// For each substep with gamma and zeta, share = gamma + zeta, with the terms N = -div(u u):
//   (1 - a D) u* = u + dt (gamma N + zeta N_before) + a D u - share dt (grad p - drive),
//   a = share dt nu / 2,  D phi = div u* / (share dt),
//   u = u* - share dt grad phi,  p = p + phi - a D phi.
void Solver::advance(double dt) {
    const bool by_gradient = parameters_.forcing == Forcing::pressure_gradient;
    pressure_gradient_ = by_gradient ? parameters_.drive : 0.0;
    for (const auto& [gamma, zeta] : runge_kutta) {
        const Substep s{dt, gamma, zeta};
        if (!s.is_first()) // `step` evaluates its terms
            convection_.evaluate(velocity_, terms_);
        solve_along_z(s);
        hold_flow_rate(s);
        exchange_ghosts();
        std::swap(terms_, previous_terms_);
    }
}

void Solver::solve_along_z(const Substep& s) {
    const double time = s.share() * s.dt;
    // The momentum stage uses up the previous terms: the projection may overwrite them.
    const SolveStage stages[] = {momentum_stage(s, previous_terms_),
                                 projection_stage({.velocity = velocity_,
                                                   .time = time,
                                                   .diffusion = 0.5 * time * parameters_.viscosity,
                                                   .adds_to_pressure = true,
                                                   .scratch = previous_terms_})};
    const int fields = solve_passes - (s.is_first() ? 3 : 0); // no terms before
    const parallel::Section solve(sections_, "solves along z", {.bytes = bytes_of(fields)});
    tridiagonal_->solve(stages);
}

SolveStage Solver::momentum_stage(const Substep& s, const Velocity& previous_terms) {
    const double a = 0.5 * s.share() * s.dt * parameters_.viscosity;
    helmholtz(wall_.at_centres(), a, centre_rows_);
    helmholtz(wall_.at_faces(), a, face_rows_);
    return {{{&centre_rows_, k2_.data(), {velocity_.u, velocity_.v}, previous_terms.u},
             {&face_rows_, k2_.data(), {velocity_.w}, previous_terms.w}},
            {},
            [=, this](Range modes) { add_explicit_terms(s, previous_terms, modes); },
            nullptr,
            explicit_flops * planes_.size()};
}

SolveStage Solver::projection_stage(const Projection& projection) {
    assert(projection.time > 0);
    const Velocity& scratch = projection.scratch;
    return {{{&wall_.pressure(), poisson_shift_.data(), {scratch.u}, scratch.w}},
            {projection.velocity.w},
            [=, this](Range modes) { compute_divergence(projection, modes); },
            [=, this](Range modes) { subtract_gradient(projection, modes); },
            divergence_flops * planes_.size(),
            gradient_flops * planes_.size()};
}

void Solver::exchange_ghosts() {
    const Planes up[] = {velocity_.u, velocity_.v, velocity_.w};
    const Planes down[] = {velocity_.u, velocity_.v, velocity_.w, p_};
    halo_.exchange(up, down);
}

void Solver::hold_flow_rate(const Substep& s) {
    if (parameters_.forcing != Forcing::flow_rate)
        return;
    // The profile that a unit pressure gradient adds in this substep: (1 - a D) g = share dt.
    auto& g = mean_response_;
    std::fill(g.begin(), g.end(), s.share() * s.dt);
    double response = 0; // its mean over the cross-section
    solve_one(centre_rows_, g, mean_factors_,
              [&](std::size_t k) { response += 0.5 * wall_.height(static_cast<int>(k)) * g[k]; });
    const double gradient = (parameters_.drive - bulk_velocity()) / response;
    traffic_.add(Exchange::reduction, 1, sizeof(double));
    if (holds_mean())
        for (int k = 0; k < planes_.size(); ++k)
            velocity_.u.re(k)[0] += gradient * g[static_cast<std::size_t>(planes_.begin + k)];
    pressure_gradient_ += s.share() * gradient;
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
            put(velocity_.u, u[global]);
            put(velocity_.v, v[global]);
            if (global + 1 < n)
                put(velocity_.w, w[global]);
        }
    };
    const int column = ky >= 0 ? ky : ky + modes.columns_y();
    add(column, false);
    if (kx == 0 && ky != 0)
        add(ky > 0 ? modes.columns_y() - ky : -ky, true);
}

void Solver::project() {
    for (int k = 0; k < planes_.size(); ++k)
        std::fill_n(p_.re(k), 2 * modes_, 0.0);
    const auto project = [&](const Velocity& field, bool adds_to_pressure) {
        const SolveStage stages[] = {projection_stage({.velocity = field,
                                                       .time = 1.0,
                                                       .diffusion = 0.0,
                                                       .adds_to_pressure = adds_to_pressure,
                                                       .scratch = previous_terms_})};
        sections_.mark();
        tridiagonal_->solve(stages);
        exchange_ghosts();
    };
    project(velocity_, false);
    // The pressure makes the acceleration free of divergence too.
    convection_.evaluate(velocity_, terms_);
    project(terms_, true);
}

double Solver::measure_rate() {
    const auto counters = traffic_; // they count steps only
    double rate = convection_.evaluate_with_rate(velocity_, terms_);
    MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_MAX, grid_.all().get());
    traffic_ = counters;
    return rate;
}

void Solver::use_wisdom(const std::string& wisdom) {
    if (linalg::import_wisdom(wisdom))
        convection_.replan();
}

} // namespace uzushio::channel
