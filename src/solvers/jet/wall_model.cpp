#include "solvers/jet/wall_model.hpp"

#include <algorithm>
#include <cmath>

namespace uzushio::jet {
namespace {

constexpr double kappa = 0.41, recovery = 0.9;

/// Return Reichardt's velocity at a distance, both in units of the wall, and its slope.
std::pair<double, double> reichardt(double y) {
    const double slow = std::exp(-y / 11), fast = std::exp(-y / 3);
    return {std::log1p(kappa * y) / kappa + 7.8 * (1 - slow - y / 11 * fast),
            1 / (1 + kappa * y) + 7.8 / 11 * (slow - fast + y / 3 * fast)};
}

/// Return the friction velocity u with speed = u reichardt(distance u / nu).
double friction_velocity(double speed, double distance, double nu) {
    double u = std::sqrt(speed * nu / distance); // of a viscous layer; Newton's method is monotonic
    for (int step = 0; step < 50; ++step) {
        const double y = distance * u / nu;
        const auto [value, slope] = reichardt(y);
        const double change = (speed - u * value) / (value + y * slope);
        u += change;
        if (std::abs(change) <= 1e-15 * u)
            break;
    }
    return u;
}

} // namespace

WallFluxes wall_fluxes(const WallLayer& layer, std::optional<double> temperature, double prandtl,
                       const std::function<double(double)>& viscosity) {
    const double T = layer.temperature, cp = layer.heat_capacity;
    const double u = std::max(layer.speed, 1e-9 * std::sqrt(cp * T)); // heat at rest, too
    const double wall = temperature.value_or(T + recovery * u * u / (2 * cp));
    // T / T_w = 1 + b u - a^2 u^2; the transformed velocity is an angle over a.
    const double a = std::sqrt(recovery / (2 * cp * wall));
    const double b = temperature ? (T / wall - 1) / u + a * a * u : 0;
    const double root = std::sqrt(T / wall);
    const double sine = 2 * a * u * (2 * a * a + b * (b - a * a * u) / (1 + root));
    const double cosine = 4 * a * a * root - (2 * a * a * u - b) * b;
    const double transformed = std::atan2(sine, cosine) / a;
    const double density = layer.density * T / wall;
    const double friction =
        friction_velocity(transformed, layer.distance, viscosity(wall) / density);
    const double stress = density * friction * friction;
    return {layer.speed > 0 ? stress : 0, cp * stress * wall * b / prandtl, wall};
}

void add_wall_model(const JetParameters& flow, const PatchCondition& condition,
                    const domain::Face& face, const FlowBlock& block,
                    const View<const double>& centres, const SideRow& row, double* const* fluxes) {
    const Conserved at(flow.gas.size());
    const View<const double>& q = block.primitive;
    for (std::int64_t n = 0; n < row.size; ++n) {
        Index<3> side = row.first;
        side[0] += n;
        const Index<3> cell = face.is_upper() ? moved(side, face.axis, -1) : side;
        const Index<3> beyond = face.is_upper() ? side : moved(side, face.axis, -1);
        Vector normal{}, velocity{};
        double area = 0, through = 0, distance = 0, speed = 0;
        for (std::size_t c = 0; c < 3; ++c) {
            normal[c] = block.areas[face.axis](side, static_cast<int>(c));
            area += normal[c] * normal[c];
        }
        area = std::sqrt(area);
        if (!(area > 0))
            continue;
        for (std::size_t c = 0; c < 3; ++c) {
            const int k = static_cast<int>(c);
            normal[c] /= area;
            velocity[c] = q(cell, k) - condition.state.velocity[c];
            through += velocity[c] * normal[c];
            distance += 0.5 * (centres(beyond, k) - centres(cell, k)) * normal[c];
        }
        for (std::size_t c = 0; c < 3; ++c) {
            velocity[c] -= through * normal[c];
            speed += velocity[c] * velocity[c];
        }
        speed = std::sqrt(speed);
        const double rho = q(cell, Primitive::density), T = q(cell, Primitive::temperature);
        const double capacity =
            (q(cell, Primitive::internal_energy) + q(cell, Primitive::pressure)) / (rho * T);
        const bool is_isothermal = condition.kind == PatchCondition::Kind::isothermal_wall_model;
        const WallFluxes wall =
            wall_fluxes({std::abs(distance), speed, rho, T, capacity},
                        is_isothermal ? std::optional(condition.state.temperature) : std::nullopt,
                        flow.subgrid_prandtl, [&](double temperature) {
                            return flow.gas.transport ? block.transport(cell, 0)
                                                      : flow.gas.viscosity_at(temperature);
                        });
        const double out = face.is_upper() ? area : -area;
        double work = 0;
        for (std::size_t c = 0; c < 3; ++c) {
            const double stress = speed > 0 ? out * wall.stress * velocity[c] / speed : 0;
            fluxes[static_cast<std::size_t>(at.momentum) + c][n] += stress;
            work += stress * condition.state.velocity[c];
        }
        fluxes[at.energy][n] += work + out * wall.heat;
    }
}

} // namespace uzushio::jet
