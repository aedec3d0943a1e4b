#include "solvers/jet/variables.hpp"

#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace uzushio::jet {
namespace {

/// Guess of temperatures, K: the same for all states, so that they do not depend on earlier ones.
constexpr double guess = 1000;

/// Set temperature, pressure and rho c_v T of rows of a gas with polynomials from its energy per
/// volume, which is in `heat`; `p` is the product of density and gas constant.
void set_by_polynomials(const Mixture& mixture, const View<const double>& conserved,
                        const Index<3>& first, std::size_t size, double* p, double* T,
                        double* heat) {
    std::array<const double*, Mixture::max_species> parts{};
    for (int s = 0; s < mixture.size(); ++s)
        parts[static_cast<std::size_t>(s)] = &conserved(first, s);
    const Mixture::Weights weights(parts.data(), static_cast<std::size_t>(mixture.size()));
    std::fill_n(T, size, guess);
    mixture.set_temperatures(weights, {heat, size}, {T, size});
    std::vector<double> energies(size);
    mixture.set_energies(weights, {T, size}, {heat, size}, energies);
    for (std::size_t n = 0; n < size; ++n) {
        heat[n] = (heat[n] - p[n]) * T[n]; // from the capacity at constant pressure
        p[n] *= T[n];
    }
}

} // namespace

void set_primitives(const Gas& gas, const View<const double>& conserved, const Box<3>& box,
                    const View<double>& primitive) {
    const Conserved at(gas.size());
    domain::for_rows(box, [&](const Index<3>& first, std::int64_t size) {
        double* __restrict const rho = &primitive(first, density);
        double* __restrict const p = &primitive(first, pressure);
        double* __restrict const T = &primitive(first, temperature);
        double* __restrict const e = &primitive(first, internal_energy);
        double* __restrict const uu = &primitive(first, u);
        double* __restrict const vv = &primitive(first, v);
        double* __restrict const ww = &primitive(first, w);
        // Sums over the species: mass, and for the gas law p = R T, e = formation + c T.
        for (std::int64_t n = 0; n < size; ++n)
            rho[n] = p[n] = T[n] = e[n] = 0;
        for (int s = 0; s < gas.size(); ++s) {
            const Species& of = gas.species[static_cast<std::size_t>(s)];
            const double* __restrict const part = &conserved(first, s);
            for (std::int64_t n = 0; n < size; ++n) {
                rho[n] += part[n];
                p[n] += part[n] * of.gas_constant;
                T[n] += part[n] * of.heat_capacity;
                e[n] += part[n] * of.formation_energy;
            }
        }
        const double* __restrict const mu = &conserved(first, at.momentum);
        const double* __restrict const mv = &conserved(first, at.momentum + 1);
        const double* __restrict const mw = &conserved(first, at.momentum + 2);
        const double* __restrict const total = &conserved(first, at.energy);
        for (std::int64_t n = 0; n < size; ++n) {
            const double inverse = 1 / rho[n];
            uu[n] = mu[n] * inverse;
            vv[n] = mv[n] * inverse;
            ww[n] = mw[n] * inverse;
            const double energy = total[n] - 0.5 * (mu[n] * uu[n] + mv[n] * vv[n] + mw[n] * ww[n]);
            e[n] = energy - e[n];
        }
        if (gas.polynomials) {
            set_by_polynomials(*gas.polynomials, conserved, first, static_cast<std::size_t>(size),
                               p, T, e);
            return;
        }
        for (std::int64_t n = 0; n < size; ++n) {
            T[n] = e[n] / T[n];
            p[n] *= T[n];
        }
    });
}

void conserve(const Gas& gas, const State& state, std::span<double> conserved) {
    const Conserved at(gas.size());
    const double rho = acoustics(gas, state).density;
    double energy = 0;
    for (std::size_t s = 0; s < gas.species.size(); ++s) {
        const Species& of = gas.species[s];
        conserved[s] = rho * state.mass_fractions[s];
        energy += conserved[s] * (of.heat_capacity * state.temperature + of.formation_energy);
    }
    if (gas.polynomials)
        energy = rho * gas.polynomials->energy(state.mass_fractions, state.temperature);
    for (std::size_t c = 0; c < 3; ++c) {
        conserved[static_cast<std::size_t>(at.momentum) + c] = rho * state.velocity[c];
        energy += 0.5 * rho * state.velocity[c] * state.velocity[c];
    }
    conserved[static_cast<std::size_t>(at.energy)] = energy;
}

State state_at(const Gas& gas, const View<const double>& conserved, const Index<3>& cell) {
    const Conserved at(gas.size());
    State state;
    double rho = 0, constant = 0, capacity = 0, formation = 0;
    double energy = conserved(cell, at.energy);
    for (int s = 0; s < gas.size(); ++s) {
        const Species& of = gas.species[static_cast<std::size_t>(s)];
        const double part = conserved(cell, s);
        rho += part;
        constant += part * of.gas_constant;
        capacity += part * of.heat_capacity;
        formation += part * of.formation_energy;
    }
    for (int c = 0; c < 3; ++c) {
        const double momentum = conserved(cell, at.momentum + c);
        state.velocity[static_cast<std::size_t>(c)] = momentum / rho;
        energy -= 0.5 * momentum * momentum / rho;
    }
    for (int s = 0; s < gas.size(); ++s)
        state.mass_fractions.push_back(conserved(cell, s) / rho);
    state.temperature =
        gas.polynomials ? gas.polynomials->temperature(state.mass_fractions, energy / rho, guess)
                        : (energy - formation) / capacity;
    state.pressure = constant * state.temperature;
    return state;
}

Acoustics acoustics(const Gas& gas, const State& state) {
    double constant = 0, capacity = 0;
    for (std::size_t s = 0; s < gas.species.size(); ++s) {
        constant += state.mass_fractions[s] * gas.species[s].gas_constant;
        capacity += state.mass_fractions[s] * gas.species[s].heat_capacity;
    }
    const double gamma = gas.polynomials
                             ? gas.polynomials->gamma(state.mass_fractions, state.temperature)
                             : 1 + constant / capacity;
    return {state.pressure / (constant * state.temperature),
            std::sqrt(gamma * constant * state.temperature)};
}

double sound_speed(const View<const double>& primitive, const Index<3>& at) {
    const double p = primitive(at, Primitive::pressure), rho = primitive(at, Primitive::density);
    // gamma = 1 + R / c_v, of rho c_v T and p = rho R T.
    return std::sqrt((1 + p / primitive(at, Primitive::internal_energy)) * p / rho);
}

} // namespace uzushio::jet
