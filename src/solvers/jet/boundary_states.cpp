#include "solvers/jet/boundary_states.hpp"

#include <algorithm>
#include <cmath>

namespace uzushio::jet {
namespace {

using Kind = PatchCondition::Kind;

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Return `share` of a state, and the rest of another.
State mixed(double share, const State& a, const State& b) {
    const auto between = [&](double x, double y) { return y + share * (x - y); };
    State state;
    for (std::size_t c = 0; c < 3; ++c)
        state.velocity[c] = between(a.velocity[c], b.velocity[c]);
    state.pressure = between(a.pressure, b.pressure);
    state.temperature = between(a.temperature, b.temperature);
    for (std::size_t s = 0; s < a.mass_fractions.size(); ++s)
        state.mass_fractions.push_back(between(a.mass_fractions[s], b.mass_fractions[s]));
    return state;
}

/// Return the state at a boundary by characteristics along its outward normal: those that enter
/// have the values of `outside`, those that leave have those of `inside`.
State characteristic(const Gas& gas, const State& inside, const State& outside,
                     const Vector& normal) {
    const Acoustics acoustic = acoustics(gas, inside);
    const double speed = dot(inside.velocity, normal);
    if (speed >= acoustic.sound_speed)
        return inside;
    if (speed <= -acoustic.sound_speed)
        return outside;
    const double impedance = acoustic.density * acoustic.sound_speed;
    const double other = dot(outside.velocity, normal);
    const double pressure =
        0.5 * (inside.pressure + outside.pressure) + 0.5 * impedance * (speed - other);
    const double through =
        0.5 * (speed + other) + (inside.pressure - outside.pressure) / (2 * impedance);
    State state = through > 0 ? inside : outside;
    const double own = dot(state.velocity, normal);
    for (std::size_t c = 0; c < 3; ++c)
        state.velocity[c] += (through - own) * normal[c];
    // The density changes with the pressure at constant entropy.
    const Acoustics carried = acoustics(gas, state);
    const double density =
        carried.density + (pressure - state.pressure) / (carried.sound_speed * carried.sound_speed);
    state.temperature *= pressure / state.pressure * carried.density / density;
    state.pressure = pressure;
    return state;
}

/// Return the state beyond a side by extrapolation from the two cells inside it, or that of the
/// first cell where it changes by more than half from cell to cell.
State extrapolated(const Gas& gas, const View<const double>& conserved, const Index<3>& inside,
                   const Index<3>& next) {
    const State first = state_at(gas, conserved, inside), second = state_at(gas, conserved, next);
    State state = mixed(2, first, second);
    bool is_smooth = std::abs(state.pressure - first.pressure) < 0.5 * first.pressure &&
                     std::abs(state.temperature - first.temperature) < 0.5 * first.temperature;
    for (const double fraction : state.mass_fractions)
        is_smooth = is_smooth && fraction >= 0;
    return is_smooth ? state : first;
}

/// Return the state of the ghosts beyond a side.
State outer_state(const Gas& gas, const PatchCondition& condition, const State& inside,
                  const Vector& position, const Vector& normal) {
    State state = state_at(condition, position);
    switch (condition.kind) {
    case Kind::supersonic_inflow:
        return state;
    case Kind::supersonic_outflow:
    case Kind::characteristic_inflow:
    case Kind::characteristic_outflow:
        return inside;
    case Kind::inflow:
        state.pressure = inside.pressure;
        return state;
    default:
        return characteristic(gas, inside, state, normal);
    }
}

/// Return the mirror image of a state in a wall.
State mirror_image(const PatchCondition& condition, State state, const Vector& normal) {
    if (condition.kind == Kind::slip_wall || has_wall_model(condition.kind)) {
        const double through = dot(state.velocity, normal);
        for (std::size_t c = 0; c < 3; ++c)
            state.velocity[c] -= 2 * through * normal[c];
        return state;
    }
    for (std::size_t c = 0; c < 3; ++c)
        state.velocity[c] = 2 * condition.state.velocity[c] - state.velocity[c];
    if (condition.kind == Kind::isothermal_wall) // at least a tenth: a positive temperature
        state.temperature = std::max(2 * condition.state.temperature - state.temperature,
                                     0.1 * condition.state.temperature);
    return state;
}

} // namespace

State state_at(const PatchCondition& condition, const Vector& position) {
    if (!condition.profile)
        return condition.state;
    const JetProfile& jet = *condition.profile;
    Vector distance{};
    for (std::size_t c = 0; c < 3; ++c)
        distance[c] = position[c] - jet.centre[c];
    const double along = dot(distance, jet.axis);
    const double r = std::sqrt(std::max(dot(distance, distance) - along * along, 0.)) / jet.radius;
    if (r == 0)
        return condition.state;
    const double share = 0.5 - 0.5 * std::tanh(jet.radius / (4 * jet.thickness) * (r - 1 / r));
    return mixed(share, condition.state, jet.surroundings);
}

void fill_ghosts(const Gas& gas, const PatchCondition& condition, const domain::SolverPatch& patch,
                 const View<double>& conserved, int layers) {
    const bool is_wall = condition.kind == Kind::slip_wall || is_no_slip(condition.kind);
    const domain::Face& face = patch.face();
    const View<const double> areas = patch.block.areas(face.axis);
    const double outward = face.is_upper() ? 1 : -1;
    std::vector<double> values(static_cast<std::size_t>(Conserved(gas.size()).count));
    domain::for_indices(patch.region.ghosts(layers), [&](const Index<3>& ghost) {
        const std::int64_t plane = face.is_upper() ? patch.region.zone_cells[face.axis] : 0;
        Index<3> side = ghost, inside = ghost;
        side[face.axis] = plane;
        inside[face.axis] = face.is_upper() ? plane - 1 : plane;
        for (std::size_t a = 0; a < 3; ++a) // kernels read no edges beyond the ghosts of areas
            side[a] = std::clamp(side[a], areas.box().lower[a], areas.box().upper[a] - 1);
        Vector normal{};
        for (std::size_t c = 0; c < 3; ++c)
            normal[c] = outward * areas(side, static_cast<int>(c));
        const double magnitude = std::sqrt(dot(normal, normal));
        for (double& component : normal)
            component = magnitude > 0 ? component / magnitude : 0;
        State state;
        if (is_wall) {
            Index<3> mirrored = patch.region.mirrored(ghost); // zones may be thinner than layers
            mirrored[face.axis] = std::clamp<std::int64_t>(mirrored[face.axis], 0,
                                                           patch.region.zone_cells[face.axis] - 1);
            state = mirror_image(condition, state_at(gas, conserved, mirrored), normal);
        } else {
            // Of the side, from the cells inside: at edges there may be no centres beyond it.
            const Index<3> next = moved(inside, face.axis, face.is_upper() ? -1 : 1);
            const bool has_next = patch.region.zone_cells[face.axis] > 1;
            Vector position{};
            if (condition.profile) {
                position = patch.block.centre(inside);
                const Vector beyond = has_next ? patch.block.centre(next) : position;
                for (std::size_t c = 0; c < 3; ++c)
                    position[c] = 1.5 * position[c] - 0.5 * beyond[c];
            }
            const bool is_extrapolated = has_next && (condition.kind == Kind::far_field ||
                                                      is_characteristic(condition.kind));
            state = outer_state(gas, condition,
                                is_extrapolated ? extrapolated(gas, conserved, inside, next)
                                                : state_at(gas, conserved, inside),
                                position, normal);
        }
        conserve(gas, state, values);
        for (std::size_t c = 0; c < values.size(); ++c)
            conserved(ghost, static_cast<int>(c)) = values[c];
    });
}

} // namespace uzushio::jet
