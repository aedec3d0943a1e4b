#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/mesh.hpp"
#include "solvers/jet/gas.hpp"

namespace uzushio::jet {

using domain::Vector;

/// State of the gas at a point.
struct State {
    Vector velocity{};
    double pressure = 0;
    double temperature = 0;
    std::vector<double> mass_fractions; ///< in the order of the gas's species; their sum is 1
};

/// Round jet in a surrounding gas: the state is that of the jet at its axis, and passes into that
/// of the surroundings as tanh((r/R - R/r) R / 4 thickness).
struct JetProfile {
    Vector centre{};
    Vector axis{1, 0, 0}; ///< unit vector
    double radius = 1;
    double thickness = 0.05; ///< momentum thickness of the shear layer
    State surroundings;
};

/// Boundary condition of patches.
struct PatchCondition {
    enum class Kind {
        supersonic_inflow,     ///< the state
        supersonic_outflow,    ///< states from inside
        inflow,                ///< the state's velocity, temperature, species; pressure from inside
        far_field,             ///< the state's incoming characteristics, the flow's outgoing ones
        characteristic_inflow, ///< waves that enter relax to the state but for its pressure
        characteristic_outflow, ///< waves that enter relax to the state's pressure
        slip_wall,              ///< also a plane of symmetry
        adiabatic_wall,         ///< no slip, velocity of the state
        isothermal_wall,        ///< no slip, velocity and temperature of the state
        adiabatic_wall_model,   ///< turbulent layer in equilibrium, velocity of the state
        isothermal_wall_model   ///< the same, velocity and temperature of the state
    };
    Kind kind = Kind::slip_wall;
    State state;
    std::optional<JetProfile> profile;
    /// Of characteristic in- and outflow: rates of relaxation are this times sound speed / length.
    double relaxation = 0.25, length = 1;
    double transverse =
        -1; ///< share of transverse terms in waves that enter; negative: Mach number
};

/// Return whether a condition changes the rates of the cells inside.
[[nodiscard]] constexpr bool is_characteristic(PatchCondition::Kind kind) {
    using Kind = PatchCondition::Kind;
    return kind == Kind::characteristic_inflow || kind == Kind::characteristic_outflow;
}

/// Return whether patches have a state of the gas, and not that of a wall.
[[nodiscard]] constexpr bool has_state(PatchCondition::Kind kind) {
    using Kind = PatchCondition::Kind;
    return kind == Kind::supersonic_inflow || kind == Kind::inflow || kind == Kind::far_field ||
           is_characteristic(kind);
}
[[nodiscard]] constexpr bool is_inflow(PatchCondition::Kind kind) {
    using Kind = PatchCondition::Kind;
    return kind == Kind::supersonic_inflow || kind == Kind::inflow ||
           kind == Kind::characteristic_inflow;
}
[[nodiscard]] constexpr bool has_wall_model(PatchCondition::Kind kind) {
    using Kind = PatchCondition::Kind;
    return kind == Kind::adiabatic_wall_model || kind == Kind::isothermal_wall_model;
}
/// Return whether a wall has a velocity.
[[nodiscard]] constexpr bool is_no_slip(PatchCondition::Kind kind) {
    using Kind = PatchCondition::Kind;
    return kind == Kind::adiabatic_wall || kind == Kind::isothermal_wall || has_wall_model(kind);
}

/// Zone in which the flow is damped to a state: by `strength` times the square of the share of the
/// way from `begin` to `end`, along an axis, or (`radial`) of the distance from it.
struct Sponge {
    Vector origin{};
    Vector axis{1, 0, 0}; ///< unit vector
    bool radial = false;
    double begin = 0, end = 1;
    double strength = 0; ///< 1 / time
    State state;
};

/// Convective fluxes.
enum class Scheme {
    keep,   ///< central, preserves kinetic energy and pressure equilibria
    hybrid, ///< `keep`, with `upwind` at shocks and contacts
    upwind
};
enum class Reconstruction { muscl3, weno5 };
enum class Subgrid { none, vreman, wale, sigma };

/// All that defines a flow besides its initial state.
struct JetParameters {
    std::shared_ptr<const domain::Mesh> mesh;
    Gas gas;
    std::map<std::string, PatchCondition> conditions; ///< by the names of patches
    std::vector<Sponge> sponges;
    Vector acceleration{}; ///< body force per mass
    Scheme scheme = Scheme::hybrid;
    Reconstruction reconstruction = Reconstruction::weno5;
    Subgrid subgrid = Subgrid::none;
    double subgrid_prandtl = 0.9, subgrid_schmidt = 0.9;
};

} // namespace uzushio::jet
