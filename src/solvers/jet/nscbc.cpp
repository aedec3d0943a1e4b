#include "solvers/jet/nscbc.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "solvers/jet/boundary_states.hpp"

namespace uzushio::jet {
namespace {

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Difference of the primitive variables along an axis.
struct Difference {
    Vector velocity{};
    double pressure = 0, temperature = 0;
};

Difference difference(const View<const double>& q, const Index<3>& upper, const Index<3>& lower,
                      double factor) {
    const auto of = [&](int variable) {
        return factor * (q(upper, variable) - q(lower, variable));
    };
    return {{of(Primitive::u), of(Primitive::v), of(Primitive::w)},
            of(Primitive::pressure),
            of(Primitive::temperature)};
}

/// Gradient of the index along an axis in a cell: mean area over volume.
Vector index_gradient(const FlowBlock& flow, std::size_t axis, const Index<3>& cell) {
    Vector gradient{};
    const Index<3> above = moved(cell, axis, 1);
    for (int c = 0; c < 3; ++c)
        gradient[static_cast<std::size_t>(c)] =
            0.5 * (flow.areas[axis](cell, c) + flow.areas[axis](above, c)) / flow.volumes(cell);
    return gradient;
}

/// Rate of change of the conserved variables of a cell.
class Rates {
  public:
    Rates(const Gas& gas, const FlowBlock& flow, const Index<3>& cell)
        : gas_(gas), flow_(flow), cell_(cell), at_(gas.size()), rates{} {}

    /// Add changes of density at constant composition and entropy, and of velocity.
    void add_acoustic(double density, const Vector& velocity) {
        const double rho = flow_.primitive(cell_, Primitive::density);
        const double enthalpy =
            (flow_.conserved(cell_, at_.energy) + flow_.primitive(cell_, Primitive::pressure)) /
            rho;
        for (int s = 0; s < gas_.size(); ++s)
            rates[static_cast<std::size_t>(s)] += fraction(s) * density;
        add_momentum(density, velocity);
        rates[static_cast<std::size_t>(at_.energy)] += enthalpy * density + work(velocity);
    }

    /// Add changes of temperature and mass fractions at constant pressure, and of velocity.
    void add_convected(double temperature, const std::array<double, Mixture::max_species>& parts,
                       const Vector& velocity) {
        const View<const double>& q = flow_.primitive;
        const double rho = q(cell_, Primitive::density), T = q(cell_, Primitive::temperature);
        const double kinetic = 0.5 * dot(u(), u());
        double constant = 0;
        for (int s = 0; s < gas_.size(); ++s)
            constant += parts[static_cast<std::size_t>(s)] *
                        gas_.species[static_cast<std::size_t>(s)].gas_constant;
        const double mean = q(cell_, Primitive::pressure) / (rho * T);
        const double density = -rho * (constant / mean + temperature / T);
        double energy = (flow_.conserved(cell_, at_.energy) / rho - kinetic) * density +
                        q(cell_, Primitive::internal_energy) / T * temperature;
        for (int s = 0; s < gas_.size(); ++s) {
            const double part = parts[static_cast<std::size_t>(s)];
            const Species& of = gas_.species[static_cast<std::size_t>(s)];
            energy += rho * part *
                      (gas_.polynomials ? gas_.polynomials->enthalpy(s, T) - of.gas_constant * T
                                        : of.heat_capacity * T + of.formation_energy);
            rates[static_cast<std::size_t>(s)] += fraction(s) * density + rho * part;
        }
        add_momentum(density, velocity);
        rates[static_cast<std::size_t>(at_.energy)] += energy + kinetic * density + work(velocity);
    }

    [[nodiscard]] double fraction(int species) const {
        return flow_.conserved(cell_, species) / flow_.primitive(cell_, Primitive::density);
    }

  private:
    [[nodiscard]] Vector u() const {
        return {flow_.primitive(cell_, 0), flow_.primitive(cell_, 1), flow_.primitive(cell_, 2)};
    }
    [[nodiscard]] double work(const Vector& velocity) const {
        return flow_.primitive(cell_, Primitive::density) * dot(u(), velocity);
    }
    void add_momentum(double density, const Vector& velocity) {
        for (std::size_t c = 0; c < 3; ++c)
            rates[static_cast<std::size_t>(at_.momentum) + c] +=
                u()[c] * density + flow_.primitive(cell_, Primitive::density) * velocity[c];
    }

    const Gas& gas_;
    const FlowBlock& flow_;
    const Index<3>& cell_;
    Conserved at_;

  public:
    std::array<double, Mixture::max_species + 4> rates;
};

} // namespace

void set_characteristic_rates(const Gas& gas, const PatchCondition& condition,
                              const domain::SolverPatch& patch, const FlowBlock& flow,
                              std::size_t axes, bool is_upwind, const View<double>& derivative,
                              const std::function<void(int, double)>& add) {
    const domain::Face& face = patch.face();
    const double outward = face.is_upper() ? 1 : -1;
    const View<const double>& q = flow.primitive;
    domain::for_indices(patch.cells(), [&](const Index<3>& cell) {
        const Index<3> next = moved(cell, face.axis, face.is_upper() ? -1 : 1);
        Vector normal = index_gradient(flow, face.axis, cell);
        const double stretch = std::sqrt(dot(normal, normal)); // index over length
        for (double& component : normal)
            component *= outward / stretch;
        const Vector u{q(cell, 0), q(cell, 1), q(cell, 2)};
        const double rho = q(cell, Primitive::density), p = q(cell, Primitive::pressure);
        const double T = q(cell, Primitive::temperature), c = sound_speed(q, cell);
        const double through = dot(u, normal), impedance = rho * c;
        if (through >= c)
            return; // all waves leave
        const State target = state_at(condition, patch.block.centre(cell));
        const double mach = std::min(std::sqrt(dot(u, u)) / c, 1.);
        Difference out = difference(q, cell, next, 1);
        if (is_upwind) { // (13, -14, 1) / 12
            const Difference inner =
                difference(q, next, moved(next, face.axis, face.is_upper() ? -1 : 1), 1. / 12);
            for (std::size_t k = 0; k < 3; ++k)
                out.velocity[k] = 13. / 12 * out.velocity[k] - inner.velocity[k];
            out.pressure = 13. / 12 * out.pressure - inner.pressure;
            out.temperature = 13. / 12 * out.temperature - inner.temperature;
        }
        const double relaxation = condition.relaxation * c / condition.length;

        // Transverse terms of the wave p - rho c u_n: its rate is -wave - transverse.
        double transverse = 0;
        for (std::size_t a = 0; a < axes; ++a) {
            if (a == face.axis)
                continue;
            const Vector gradient = index_gradient(flow, a, cell);
            const Difference along = difference(q, moved(cell, a, 1), moved(cell, a, -1), 0.5);
            transverse +=
                dot(u, gradient) * (along.pressure - impedance * dot(normal, along.velocity)) +
                rho * c * c * dot(gradient, along.velocity) -
                c * dot(gradient, normal) * along.pressure;
        }
        const double computed =
            (through - c) * stretch * (out.pressure - impedance * dot(normal, out.velocity));
        const bool is_outflow = condition.kind == PatchCondition::Kind::characteristic_outflow;
        double wanted = is_outflow
                            ? relaxation * std::max(1 - mach * mach, 0.) * (p - target.pressure)
                            : -relaxation * impedance * (through - dot(target.velocity, normal));
        wanted -= (1 - (condition.transverse < 0 ? mach : condition.transverse)) * transverse;
        const double change = -(wanted - computed); // of the rate of p - rho c u_n
        Rates rates(gas, flow, cell);
        Vector velocity = normal;
        for (double& component : velocity)
            component *= -0.5 * change / impedance;
        rates.add_acoustic(0.5 * change / (c * c), velocity);

        if (through < 0) { // these enter too
            const double heat = q(cell, Primitive::internal_energy);
            const double isentropic = p / (heat + p) * T / p; // dT / dp: (gamma - 1) / gamma T / p
            const double speed = through * stretch;
            std::array<double, Mixture::max_species> parts{};
            for (int s = 0; s < gas.size(); ++s) {
                const double inside = flow.conserved(next, s) / q(next, Primitive::density);
                const double y = rates.fraction(s);
                parts[static_cast<std::size_t>(s)] =
                    speed * (y - inside) -
                    relaxation * (y - target.mass_fractions[static_cast<std::size_t>(s)]);
            }
            Vector tangential{};
            const double normal_change = dot(normal, out.velocity);
            const double target_through = dot(target.velocity, normal);
            for (std::size_t k = 0; k < 3; ++k)
                tangential[k] = speed * (out.velocity[k] - normal_change * normal[k]) -
                                relaxation * ((u[k] - through * normal[k]) -
                                              (target.velocity[k] - target_through * normal[k]));
            rates.add_convected(speed * (out.temperature - isentropic * out.pressure) -
                                    relaxation * (T - target.temperature),
                                parts, tangential);
        }
        for (int k = 0; k < derivative.components(); ++k) {
            const double rate = rates.rates[static_cast<std::size_t>(k)];
            derivative(cell, k) += rate;
            add(k, rate * flow.volumes(cell));
        }
    });
}

} // namespace uzushio::jet
