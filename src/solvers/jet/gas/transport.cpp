#include "solvers/jet/gas/transport.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace uzushio::jet {

namespace {

constexpr double pi = std::numbers::pi;
constexpr double boltzmann = 1.380649e-23, avogadro = 6.02214076e23;
constexpr double permittivity = 8.8541878128e-12;
constexpr double lowest = 200, highest = 5000; ///< temperatures of the fits, K
constexpr int samples = 60;

template <std::size_t size>
double polynomial(const std::array<double, size>& coefficients, double x) {
    double sum = 0;
    for (std::size_t k = size; k-- > 0;)
        sum = sum * x + coefficients[k];
    return sum;
}

/// Return the coefficients of the least-squares polynomial of degree 5 through points, with
/// weights 1 / y^2. The basis is that of Legendre's polynomials by Gram and Schmidt.
std::array<double, 6> fitted(const std::vector<double>& x, const std::vector<double>& y) {
    std::array<double, 6> result{};
    std::vector<std::array<double, 6>> basis;
    std::vector<double> rest(y.size(), 1.0); // y / y - what the basis already has
    std::vector<std::vector<double>> columns;
    for (std::size_t k = 0; k < 6; ++k) {
        std::array<double, 6> coefficients{};
        coefficients[0] = k == 0 ? 1 : 0;
        if (k > 0) // x times the one before
            for (std::size_t j = 0; j + 1 < 6; ++j)
                coefficients[j + 1] = basis[k - 1][j];
        std::vector<double> column(x.size());
        for (std::size_t n = 0; n < x.size(); ++n)
            column[n] = polynomial(coefficients, x[n]) / y[n];
        for (int pass = 0; pass < 2; ++pass)
            for (std::size_t j = 0; j < k; ++j) {
                double dot = 0;
                for (std::size_t n = 0; n < x.size(); ++n)
                    dot += column[n] * columns[j][n];
                for (std::size_t n = 0; n < x.size(); ++n)
                    column[n] -= dot * columns[j][n];
                for (std::size_t i = 0; i < 6; ++i)
                    coefficients[i] -= dot * basis[j][i];
            }
        double norm = 0, dot = 0;
        for (const double value : column)
            norm += value * value;
        norm = std::sqrt(norm);
        for (double& value : column)
            value /= norm;
        for (double& value : coefficients)
            value /= norm;
        for (std::size_t n = 0; n < x.size(); ++n)
            dot += rest[n] * column[n];
        for (std::size_t n = 0; n < x.size(); ++n)
            rest[n] -= dot * column[n];
        for (std::size_t i = 0; i < 6; ++i)
            result[i] += dot * coefficients[i];
        columns.push_back(std::move(column));
        basis.push_back(coefficients);
    }
    return result;
}

/// Collision integrals of the Lennard-Jones potential: Neufeld, Janzen & Aziz, J. Chem. Phys. 57
/// (1972) 1100; the term of dipoles by Brokaw, Ind. Eng. Chem. Process Des. Dev. 8 (1969) 240.
struct Integrals {
    double viscosity, diffusion;
};
Integrals collision_integrals(double t, double dipole) {
    const double polar = dipole * dipole / t;
    return {1.16145 * std::pow(t, -0.14874) + 0.52487 * std::exp(-0.77320 * t) +
                2.16178 * std::exp(-2.43787 * t) + 0.2 * polar,
            1.06036 * std::pow(t, -0.15610) + 0.19300 * std::exp(-0.47635 * t) +
                1.03587 * std::exp(-1.52996 * t) + 1.76474 * std::exp(-3.89411 * t) + 0.19 * polar};
}

/// Return viscosity and conductivity of a species: Kee, Coltrin & Glarborg, Chemically Reacting
/// Flow (2003), section 12.2: the conductivity of polyatomic gases by Warnatz's formula.
std::pair<double, double> of_molecule(const Molecule& molecule, double T, double gas_constant,
                                      double heat_capacity) {
    const double mass = molar_gas_constant / gas_constant / avogadro;
    const double t = T / molecule.well_depth;
    const double volume = std::pow(molecule.diameter, 3);
    const double dipole = 0.5 * molecule.dipole * molecule.dipole /
                          (4 * pi * permittivity * molecule.well_depth * boltzmann * volume);
    const Integrals omega = collision_integrals(t, dipole);
    const double viscosity = 5. / 16 * std::sqrt(pi * mass * boltzmann * T) /
                             (pi * molecule.diameter * molecule.diameter * omega.viscosity);
    // Density times self-diffusivity over viscosity; heat capacities over the gas constant.
    const double diffusion = 1.2 * omega.viscosity / omega.diffusion;
    const double rotation = molecule.shape == Molecule::Shape::atom     ? 0.0
                            : molecule.shape == Molecule::Shape::linear ? 1.0
                                                                        : 1.5;
    const auto relaxation = [&](double temperature) { // Parker; Brau & Jonkman
        const double e = molecule.well_depth / temperature;
        return 1 + std::pow(pi, 1.5) * std::sqrt(e) * (0.5 + e) + (0.25 * pi * pi + 2) * e;
    };
    const double collisions = molecule.rotational_relaxation * relaxation(298) / relaxation(T);
    const double a = 2.5 - diffusion;
    const double b = collisions + 2 / pi * (5. / 3 * rotation + diffusion);
    const double exchange = 2 / pi * a / b;
    const double vibration = heat_capacity / gas_constant - 2.5 - rotation;
    const double conductivity = viscosity * gas_constant *
                                (2.5 * (1 - exchange * rotation / 1.5) * 1.5 +
                                 diffusion * (1 + exchange) * rotation + diffusion * vibration);
    return {viscosity, conductivity};
}

} // namespace

Transport::Transport(std::shared_ptr<const Mixture> mixture, std::vector<Law> laws,
                     std::optional<double> prandtl)
    : mixture_(std::move(mixture)), laws_(std::move(laws)), prandtl_(prandtl) {
    if (std::ssize(laws_) != mixture_->size())
        throw std::invalid_argument("each species has one law of viscosity");
    if (prandtl_ && !(*prandtl_ > 0))
        throw std::invalid_argument("a Prandtl number must be positive");
    for (int s = 0; s < mixture_->size(); ++s) {
        const std::string name =
            "species '" + mixture_->species()[static_cast<std::size_t>(s)].name + "'";
        Fit& fit = fits_.emplace_back();
        const Law& law = laws_[static_cast<std::size_t>(s)];
        if (const auto* sutherland = std::get_if<Sutherland>(&law)) {
            if (!(sutherland->viscosity >= 0 && sutherland->reference > 0))
                throw std::invalid_argument(name + ": its viscosity must not be negative");
            if (!prandtl_)
                throw std::invalid_argument(name +
                                            ": Sutherland's law needs a Prandtl number beside it");
            continue;
        }
        const auto& molecule = std::get<Molecule>(law);
        if (!(molecule.well_depth > 0 && molecule.diameter > 0))
            throw std::invalid_argument(name + ": well depth and diameter must be positive");
        std::vector<double> x, viscosities, conductivities;
        for (int n = 0; n < samples; ++n) {
            const double T = lowest * std::pow(highest / lowest, n / (samples - 1.0));
            const auto [viscosity, conductivity] =
                of_molecule(molecule, T, mixture_->gas_constant(s), mixture_->heat_capacity(s, T));
            x.push_back(std::log(T));
            viscosities.push_back(viscosity / std::sqrt(T));
            conductivities.push_back(conductivity / std::sqrt(T));
        }
        fit = {fitted(x, viscosities), fitted(x, conductivities)};
    }
    for (int i = 0; i < mixture_->size(); ++i)
        for (int j = 0; j < mixture_->size(); ++j) {
            // Molar masses are in inverse proportion to gas constants.
            const double ratio = mixture_->gas_constant(j) / mixture_->gas_constant(i); // W_i / W_j
            mass_roots_.push_back(std::pow(ratio, -0.25));
            mass_factors_.push_back(1 / std::sqrt(8 * (1 + ratio)));
        }
}

double Transport::viscosity(int species, double T) const {
    const auto s = static_cast<std::size_t>(species);
    const auto* law = std::get_if<Sutherland>(&laws_[s]);
    if (!law)
        return polynomial(fits_[s].viscosity, std::log(std::clamp(T, lowest, highest))) *
               std::sqrt(T);
    if (law->constant < 0)
        return law->viscosity;
    const double ratio = T / law->reference;
    return law->viscosity * ratio * std::sqrt(ratio) * (law->reference + law->constant) /
           (T + law->constant);
}

double Transport::conductivity(int species, double T) const {
    if (prandtl_)
        return viscosity(species, T) * mixture_->heat_capacity(species, T) / *prandtl_;
    return polynomial(fits_[static_cast<std::size_t>(species)].conductivity,
                      std::log(std::clamp(T, lowest, highest))) *
           std::sqrt(T);
}

void Transport::set(Mixture::Weights weights, std::span<const double> temperatures,
                    std::span<double> viscosities, std::span<double> conductivities) const {
    const auto count = static_cast<std::size_t>(mixture_->size());
    std::array<double, Mixture::max_species> moles{}, mu{}, root{}, lambda{};
    for (std::size_t n = 0; n < temperatures.size(); ++n) {
        const double T = temperatures[n];
        double sum = 0, mass = 0, capacity = 0;
        for (std::size_t s = 0; s < count; ++s) {
            const auto species = static_cast<int>(s);
            // Slightly negative fractions would make the sum of a trace's factors zero.
            const double weight = std::max(weights[s][n], 0.0);
            moles[s] = weight * mixture_->gas_constant(species);
            mu[s] = viscosity(species, T);
            root[s] = std::sqrt(mu[s]);
            sum += moles[s];
            mass += weight;
            if (prandtl_)
                capacity += weight * mixture_->heat_capacity(species, T);
            else
                lambda[s] = conductivity(species, T);
        }
        double mixed = 0, mean = 0, inverse = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (!prandtl_) {
                mean += moles[i] * lambda[i];
                inverse += moles[i] / lambda[i];
            }
            if (mu[i] == 0)
                continue;
            double factors = 0;
            for (std::size_t j = 0; j < count; ++j) {
                const double ratio =
                    1 + root[i] / std::max(root[j], 1e-150) * mass_roots_[i * count + j];
                factors += moles[j] * ratio * ratio * mass_factors_[i * count + j];
            }
            mixed += moles[i] * mu[i] / factors;
        }
        viscosities[n] = mixed;
        conductivities[n] =
            prandtl_ ? mixed * capacity / mass / *prandtl_ : 0.5 * (mean / sum + sum / inverse);
    }
}

} // namespace uzushio::jet
