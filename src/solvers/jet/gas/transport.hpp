#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "solvers/jet/gas/mixture.hpp"

namespace uzushio::jet {

/// Viscosity by Sutherland's law; a negative `constant` makes it the same at all temperatures.
struct Sutherland {
    double viscosity = 0; ///< at `reference`
    double reference = 273.15;
    double constant = 110.4;
};

/// Lennard-Jones (Stockmayer) potential of a species, for kinetic theory.
struct Molecule {
    enum class Shape { atom, linear, nonlinear };
    Shape shape = Shape::atom;
    double well_depth = 0;            ///< over Boltzmann's constant, K
    double diameter = 0;              ///< m
    double dipole = 0;                ///< C m
    double rotational_relaxation = 0; ///< collision number at 298 K
};

/// Viscosity, conductivity and diffusivities of a mixture. Species with a `Molecule` have viscosity
/// and conductivity by Chapman & Enskog's theory; those with `Sutherland` viscosity alone, and then
/// a Prandtl number is needed. Viscosities by kinetic theory are within 0.2 % of Cantera's for air,
/// and 3 % for water vapour. Mixing is Wilke's for the viscosity; for the conductivity it is the
/// mean of the arithmetic and harmonic ones.
class Transport {
  public:
    using Law = std::variant<Sutherland, Molecule>;

    /// Without a Prandtl number the conductivity is that of kinetic theory. Throws
    /// `std::invalid_argument` if laws and species differ in number, or a value is impossible.
    Transport(std::shared_ptr<const Mixture> mixture, std::vector<Law> laws,
              std::optional<double> prandtl);

    [[nodiscard]] const Mixture& mixture() const { return *mixture_; }
    [[nodiscard]] double viscosity(int species, double temperature) const;
    /// Return the conductivity of a species; without a Prandtl number.
    [[nodiscard]] double conductivity(int species, double temperature) const;

    /// Set the mixture's viscosities and conductivities. The weights are mass fractions or partial
    /// densities.
    void set(Mixture::Weights weights, std::span<const double> temperatures,
             std::span<double> viscosities, std::span<double> conductivities) const;

  private:
    /// Polynomials of ln T: viscosity / sqrt(T) and conductivity / sqrt(T).
    struct Fit {
        std::array<double, 6> viscosity{}, conductivity{};
    };

    std::shared_ptr<const Mixture> mixture_;
    std::vector<Law> laws_;
    std::vector<Fit> fits_;
    std::optional<double> prandtl_;
    /// Of Wilke's factors, for each pair: (W_j / W_i)^(1/4), and 1 / sqrt(8 (1 + W_i / W_j)).
    std::vector<double> mass_roots_, mass_factors_;
};

} // namespace uzushio::jet
