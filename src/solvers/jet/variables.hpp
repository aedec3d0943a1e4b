#pragma once

#include <cmath>
#include <span>

#include "domain/view.hpp"
#include "solvers/jet/parameters.hpp"

namespace uzushio::jet {

using domain::Box;
using domain::Index;
using domain::moved;
using domain::View;

/// Components of the field of conserved variables: partial densities of the species, then these.
struct Conserved {
    explicit Conserved(int species) : momentum(species), energy(species + 3), count(species + 4) {}
    int momentum; ///< the first of three
    int energy;   ///< total energy per volume
    int count;
};

/// Components of the field of primitive variables, which are computed from the conserved ones.
enum Primitive : int { u, v, w, pressure, temperature, density, internal_energy, primitives };

/// Set the primitive variables in a box of cells. `internal_energy` is per volume,
/// without energies of formation.
void set_primitives(const Gas& gas, const View<const double>& conserved, const Box<3>& box,
                    const View<double>& primitive);

/// Set the conserved variables (`Conserved::count` values) of a state.
void conserve(const Gas& gas, const State& state, std::span<double> conserved);

/// Return the state of conserved variables at a cell.
[[nodiscard]] State state_at(const Gas& gas, const View<const double>& conserved,
                             const Index<3>& at);

/// Return the (frozen) speed of sound in a cell.
[[nodiscard]] inline double sound_speed(const Gas& gas, const View<const double>& conserved,
                                        const View<const double>& primitive, const Index<3>& at) {
    double constant = 0, capacity = 0;
    for (int s = 0; s < gas.size(); ++s) {
        const Species& of = gas.species[static_cast<std::size_t>(s)];
        constant += conserved(at, s) * of.gas_constant;
        capacity += conserved(at, s) * of.heat_capacity;
    }
    return std::sqrt((1 + constant / capacity) * primitive(at, Primitive::pressure) /
                     primitive(at, Primitive::density));
}

/// Return density and (frozen) speed of sound of a state.
struct Acoustics {
    double density, sound_speed;
};
[[nodiscard]] Acoustics acoustics(const Gas& gas, const State& state);

} // namespace uzushio::jet
