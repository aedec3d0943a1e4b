#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "solvers/jet/gas/mixture.hpp"
#include "solvers/jet/gas/transport.hpp"

namespace uzushio::jet {

/// Species of a gas; the heat capacity and the energy of formation are those of a calorically
/// perfect one.
struct Species {
    std::string name;
    double gas_constant = 0;     ///< universal constant over molar mass, J/(kg K) or its like
    double heat_capacity = 0;    ///< at constant volume, per mass
    double formation_energy = 0; ///< internal energy per mass at temperature zero
};

/// Mixture of gases. Its viscosity is constant, or by Sutherland's law, or that of `transport`.
struct Gas {
    std::vector<Species> species;
    std::shared_ptr<const Mixture> polynomials{}; ///< heat capacities, J, kg, K; null: constant
    double viscosity = 0;                         ///< at `reference_temperature`
    double reference_temperature = 1;
    double sutherland = -1; ///< Sutherland's temperature; negative: constant viscosity
    double prandtl = 0.72, schmidt = 0.7;
    std::shared_ptr<const Transport> transport{}; ///< viscosity and conductivity; null: those above
    double lewis = 0; ///< of `transport`: diffusivity of heat over that of species; 0: Schmidt's

    [[nodiscard]] int size() const { return static_cast<int>(species.size()); }
    [[nodiscard]] bool is_viscous() const { return viscosity > 0 || transport; }
    [[nodiscard]] double viscosity_at(double temperature) const {
        if (sutherland < 0)
            return viscosity;
        const double ratio = temperature / reference_temperature;
        return viscosity * ratio * std::sqrt(ratio) * (reference_temperature + sutherland) /
               (temperature + sutherland);
    }
};

} // namespace uzushio::jet
