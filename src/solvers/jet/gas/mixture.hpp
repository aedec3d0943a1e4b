#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace uzushio::jet {

/// Molar gas constant, J/(mol K), exact in the SI.
constexpr double molar_gas_constant = 8.31446261815324;

/// Heat capacity at constant pressure over the gas constant: sum of `cp[k]` T^(k-2), between two
/// temperatures; NASA's polynomials with 7 coefficients begin with two zeros.
struct ThermoRange {
    double lower = 0, upper = std::numeric_limits<double>::infinity();
    std::array<double, 7> cp{};
    double enthalpy = 0; ///< constant of the enthalpy over the gas constant, K
    double entropy = 0;  ///< constant of the entropy over the gas constant
};

/// Species of an ideal gas. A calorically perfect one has a range of all temperatures, in which
/// only `cp[2]` is not zero.
struct GasSpecies {
    std::string name;
    double molar_mass = 0; ///< kg/mol
    std::vector<ThermoRange> ranges;
};

/// Thermodynamics of a mixture of ideal gases. Weights of the species are mass fractions, or
/// partial densities: extensive results are then per mass, or per volume. Energies contain the
/// enthalpies of formation of the species' data. Outside the temperatures of a species' polynomials
/// its heat capacity is that of the nearest end, and its enthalpy is linear.
class Mixture {
  public:
    static constexpr int max_species = 10;
    /// Rows of weights, a row of values along cells for each species.
    using Weights = std::span<const double* const>;

    /// Throws `std::invalid_argument` for species without positive molar mass and heat capacity,
    /// for ranges that do not follow each other, and for more than `max_species`.
    explicit Mixture(std::vector<GasSpecies> species, double reference_pressure = 1e5);

    [[nodiscard]] const std::vector<GasSpecies>& species() const { return species_; }
    [[nodiscard]] int size() const { return static_cast<int>(species_.size()); }
    [[nodiscard]] bool is_calorically_perfect() const { return is_perfect_; }
    /// Return the gas constant of a species, J/(kg K).
    [[nodiscard]] double gas_constant(int species) const {
        return constants_[static_cast<std::size_t>(species)];
    }

    /// Return a quantity of a species per mass, at a temperature.
    [[nodiscard]] double heat_capacity(int species, double temperature) const;
    [[nodiscard]] double enthalpy(int species, double temperature) const;
    /// At the reference pressure.
    [[nodiscard]] double entropy(int species, double temperature) const;

    [[nodiscard]] double gas_constant(std::span<const double> weights) const;
    [[nodiscard]] double heat_capacity(std::span<const double> weights, double temperature) const;
    [[nodiscard]] double enthalpy(std::span<const double> weights, double temperature) const;
    [[nodiscard]] double energy(std::span<const double> weights, double temperature) const;
    [[nodiscard]] double gamma(std::span<const double> weights, double temperature) const;
    /// Return the frozen speed of sound.
    [[nodiscard]] double sound_speed(std::span<const double> weights, double temperature) const;
    /// Return the entropy per mass, mixing included. `weights` are mass fractions.
    [[nodiscard]] double entropy(std::span<const double> weights, double temperature,
                                 double pressure) const;
    /// Return the temperature of an internal energy, from a guess; NaN if there is none above zero.
    [[nodiscard]] double temperature(std::span<const double> weights, double energy,
                                     double guess) const;

    /// Set temperatures from internal energies; `temperatures` holds guesses. Return the first cell
    /// without a temperature above zero (it is set to NaN), or -1. A result depends on its own cell
    /// alone, to the bit.
    std::ptrdiff_t set_temperatures(Weights weights, std::span<const double> energies,
                                    std::span<double> temperatures) const;
    /// Set pressures and frozen speeds of sound. The weights are partial densities.
    void set_pressures(Weights densities, std::span<const double> temperatures,
                       std::span<double> pressures, std::span<double> sound_speeds) const;
    /// Set heat capacities at constant pressure, and internal energies.
    void set_energies(Weights weights, std::span<const double> temperatures,
                      std::span<double> heat_capacities, std::span<double> energies) const;
    /// Set enthalpies of a species per mass.
    void set_enthalpies(int species, std::span<const double> temperatures,
                        std::span<double> enthalpies) const;

  private:
    /// Coefficients of a species per mass, in one range of temperatures common to all species:
    /// h = enthalpy + sum of series[k] T^(k+1) + logarithmic ln T - inverse / T.
    struct Coefficients {
        std::array<double, 5> series{};
        double enthalpy = 0, inverse = 0, logarithmic = 0, entropy = 0;
    };

    [[nodiscard]] std::size_t range_of(double temperature) const;
    [[nodiscard]] const Coefficients& at(std::size_t range, std::size_t species) const {
        return coefficients_[range * species_.size() + species];
    }
    [[nodiscard]] double search(std::span<const double> weights, double energy) const;
    template <bool with_inverses>
    std::ptrdiff_t set_block(Weights weights, std::size_t first, std::size_t size,
                             const double* energies, double* temperatures) const;
    template <class Store>
    void evaluate(Weights weights, std::span<const double> temperatures, const Store& store) const;

    std::vector<GasSpecies> species_;
    std::vector<double> constants_; ///< gas constants
    std::vector<double> bounds_;    ///< temperatures between the ranges common to all species
    std::vector<Coefficients> coefficients_;
    double reference_pressure_;
    bool is_perfect_ = false;
    bool has_inverses_ = false; ///< powers -2 and -1 in the heat capacity of any species
};

} // namespace uzushio::jet
