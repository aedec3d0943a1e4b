#pragma once

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
/// `internal_energy` is rho c_v T per volume: without energies of formation, that of a calorically
/// perfect gas.
enum Primitive : int { u, v, w, pressure, temperature, density, internal_energy, primitives };

/// Set the primitive variables in a box of cells. A state that cannot be has the temperature NaN.
void set_primitives(const Gas& gas, const View<const double>& conserved, const Box<3>& box,
                    const View<double>& primitive);

/// Set the conserved variables (`Conserved::count` values) of a state.
void conserve(const Gas& gas, const State& state, std::span<double> conserved);

/// Return the state of conserved variables at a cell.
[[nodiscard]] State state_at(const Gas& gas, const View<const double>& conserved,
                             const Index<3>& at);

/// Return the (frozen) speed of sound in a cell.
[[nodiscard]] double sound_speed(const View<const double>& primitive, const Index<3>& at);

/// Return density and (frozen) speed of sound of a state.
struct Acoustics {
    double density, sound_speed;
};
[[nodiscard]] Acoustics acoustics(const Gas& gas, const State& state);

} // namespace uzushio::jet
