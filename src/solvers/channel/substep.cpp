// Kernels of a substep, for one chunk of modes at all heights of this rank.
#include <algorithm>

#include "solvers/channel/solver.hpp"

namespace uzushio::channel {

using parallel::Range;

void Solver::add_explicit_terms(const Substep& s, const Velocity& previous_terms, Range modes) {
    const double a = 0.5 * s.share() * s.dt * parameters_.viscosity;
    const double gamma = s.gamma * s.dt;
    const double zeta = s.zeta * s.dt;
    const double time = s.share() * s.dt;
    const int count = modes.size();
    const int m0 = modes.begin;

    // x += dt (gamma terms + zeta previous) + a (D - k²) x - time grad p, for the real or the
    // imaginary part of a component.
    const auto component = [&](auto part, const Planes& x, const Planes& terms,
                               const Planes& previous, const Rows& rows, auto gradient) {
        double* __restrict below = row_.data() + m0;
        std::copy_n(part(x, -1) + m0, count, below);
        for (int k = 0; k < planes_.size(); ++k) {
            const auto global = static_cast<std::size_t>(planes_.begin + k);
            const double lower = a * rows.lower[global];
            const double diagonal = a * rows.diagonal[global];
            const double upper = a * rows.upper[global];
            const double square = a * rows.weight[global];
            const double* __restrict k2 = k2_.data() + m0;
            const double* __restrict term = part(terms, k) + m0;
            const double* __restrict previous_term = part(previous, k) + m0;
            const double* __restrict above = part(x, k + 1) + m0;
            double* __restrict value = part(x, k) + m0;
            const auto pressure_at = gradient(k);
#pragma omp simd
            for (int m = 0; m < count; ++m) {
                const double x_old = value[m];
                value[m] = x_old + gamma * term[m] + zeta * previous_term[m] + lower * below[m] +
                           (diagonal + square * k2[m]) * x_old + upper * above[m] + pressure_at(m);
                below[m] = x_old;
            }
        }
    };
    const auto re = [](const Planes& f, int k) { return f.re(k); };
    const auto im = [](const Planes& f, int k) { return f.im(k); };
    const auto along = [&](const std::vector<double>& wave, auto part, double sign) {
        return [=, this, &wave](int k) {
            const double* p = part(p_, k) + m0;
            const double* kw = wave.data() + m0;
            const double factor = sign * time;
            return [=](int m) { return factor * kw[m] * p[m]; };
        };
    };
    const auto across = [&](auto part) {
        return [=, this](int k) {
            const int global = planes_.begin + k;
            const bool wall = global + 1 == wall_.cells();
            const double factor = wall ? 0.0 : -time / wall_.distance(global);
            const double* here = part(p_, k) + m0;
            const double* above = part(p_, k + 1) + m0;
            return [=](int m) { return factor * (above[m] - here[m]); };
        };
    };
    // -i kx p has the real part kx Im p and the imaginary part -kx Re p.
    component(re, velocity_.u, terms_.u, previous_terms.u, wall_.at_centres(), along(kx_, im, 1.0));
    component(im, velocity_.u, terms_.u, previous_terms.u, wall_.at_centres(),
              along(kx_, re, -1.0));
    component(re, velocity_.v, terms_.v, previous_terms.v, wall_.at_centres(), along(ky_, im, 1.0));
    component(im, velocity_.v, terms_.v, previous_terms.v, wall_.at_centres(),
              along(ky_, re, -1.0));
    component(re, velocity_.w, terms_.w, previous_terms.w, wall_.at_faces(), across(re));
    component(im, velocity_.w, terms_.w, previous_terms.w, wall_.at_faces(), across(im));

    if (m0 == 0 && holds_mean() && parameters_.forcing == Forcing::pressure_gradient)
        for (int k = 0; k < planes_.size(); ++k)
            velocity_.u.re(k)[0] += time * parameters_.drive;
}

void Solver::compute_divergence(const Projection& projection, Range modes) {
    const Velocity& velocity = projection.velocity;
    const Planes& potential = projection.scratch.u;
    const double diffusion = projection.diffusion;
    const int count = modes.size();
    const int m0 = modes.begin;
    const double* __restrict kx = kx_.data() + m0;
    const double* __restrict ky = ky_.data() + m0;
    const double scale = 1.0 / projection.time;
    for (int k = 0; k < planes_.size(); ++k) {
        const double per_height = scale / wall_.height(planes_.begin + k);
        const auto part = [&](double sign, const double* __restrict u, const double* __restrict v,
                              const double* __restrict w, const double* __restrict w_below,
                              double* __restrict phi, double* __restrict p) {
            const double signed_scale = sign * scale;
#pragma omp simd
            for (int m = 0; m < count; ++m) {
                phi[m] =
                    signed_scale * (kx[m] * u[m] + ky[m] * v[m]) + per_height * (w[m] - w_below[m]);
                p[m] -= diffusion * phi[m];
            }
        };
        part(-1.0, velocity.u.im(k) + m0, velocity.v.im(k) + m0, velocity.w.re(k) + m0,
             velocity.w.re(k - 1) + m0, potential.re(k) + m0, p_.re(k) + m0);
        part(1.0, velocity.u.re(k) + m0, velocity.v.re(k) + m0, velocity.w.im(k) + m0,
             velocity.w.im(k - 1) + m0, potential.im(k) + m0, p_.im(k) + m0);
    }
}

void Solver::subtract_gradient(const Projection& projection, Range modes) {
    const Velocity& velocity = projection.velocity;
    const double time = projection.time;
    const int count = modes.size();
    const int m0 = modes.begin;
    const double* __restrict kx = kx_.data() + m0;
    const double* __restrict ky = ky_.data() + m0;
    const double keep = projection.adds_to_pressure ? 1.0 : 0.0;
    for (int k = 0; k < planes_.size(); ++k) {
        const int global = planes_.begin + k;
        const double across = global + 1 == wall_.cells() ? 0.0 : time / wall_.distance(global);
        const auto part = [&](const double* __restrict phi, const double* __restrict phi_above,
                              double sign, double* __restrict u_other, double* __restrict v_other,
                              double* __restrict w, double* __restrict p) {
            const double along = sign * time;
#pragma omp simd
            for (int m = 0; m < count; ++m) {
                u_other[m] += along * kx[m] * phi[m];
                v_other[m] += along * ky[m] * phi[m];
                w[m] -= across * (phi_above[m] - phi[m]);
                p[m] += keep * phi[m];
            }
        };
        const Planes& phi = projection.scratch.u;
        part(phi.im(k) + m0, phi.im(k + 1) + m0, 1.0, velocity.u.re(k) + m0, velocity.v.re(k) + m0,
             velocity.w.im(k) + m0, p_.im(k) + m0);
        part(phi.re(k) + m0, phi.re(k + 1) + m0, -1.0, velocity.u.im(k) + m0, velocity.v.im(k) + m0,
             velocity.w.re(k) + m0, p_.re(k) + m0);
    }
}

} // namespace uzushio::channel
