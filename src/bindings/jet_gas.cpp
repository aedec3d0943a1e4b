#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "solvers/jet/gas/mixture.hpp"
#include "solvers/jet/gas/transport.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {
namespace {

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Row = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

std::span<const double> span(const Row& row) { return {row.data(), row.shape(0)}; }

/// Weights (species, cell) as rows; throws `std::invalid_argument` for other shapes.
std::vector<const double*> rows(const jet::Mixture& mixture, const Rows& weights,
                                const Row& beside) {
    if (static_cast<int>(weights.shape(0)) != mixture.size() || weights.shape(1) != beside.shape(0))
        throw std::invalid_argument("weights are an array (species, cell), other values (cell)");
    std::vector<const double*> result;
    for (std::size_t s = 0; s < weights.shape(0); ++s)
        result.push_back(weights.data() + s * weights.shape(1));
    return result;
}

Result array(std::vector<double> values) {
    auto* kept = new std::vector<double>(std::move(values));
    const nb::capsule owner(kept,
                            [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return Result(kept->data(), {kept->size()}, owner);
}

/// Evaluate a function of the mass fractions and two values, cell by cell.
template <class Function>
Result each(const jet::Mixture& mixture, const Rows& weights, const Row& first,
            const Function& function) {
    const auto all = rows(mixture, weights, first);
    std::vector<double> cell(all.size()), result(first.shape(0));
    for (std::size_t n = 0; n < result.size(); ++n) {
        for (std::size_t s = 0; s < all.size(); ++s)
            cell[s] = all[s][n];
        result[n] = function(std::span<const double>(cell), n);
    }
    return array(std::move(result));
}

} // namespace

void bind_jet_gas(nb::module_& module) {
    using jet::Mixture;
    using jet::Transport;
    nb::class_<jet::ThermoRange>(module, "ThermoRange")
        .def(nb::init<double, double, std::array<double, 7>, double, double>(), "lower"_a,
             "upper"_a, "cp"_a, "enthalpy"_a = 0.0, "entropy"_a = 0.0);
    nb::class_<jet::GasSpecies>(module, "GasSpecies")
        .def(nb::init<std::string, double, std::vector<jet::ThermoRange>>(), "name"_a,
             "molar_mass"_a, "ranges"_a)
        .def_ro("name", &jet::GasSpecies::name)
        .def_ro("molar_mass", &jet::GasSpecies::molar_mass);
    nb::class_<Mixture>(module, "Mixture")
        .def(nb::init<std::vector<jet::GasSpecies>, double>(), "species"_a,
             "reference_pressure"_a = 1e5)
        .def_prop_ro("species", &Mixture::species)
        .def_prop_ro("is_calorically_perfect", &Mixture::is_calorically_perfect)
        .def(
            "gas_constant",
            [](const Mixture& mixture, const std::vector<double>& weights) {
                if (static_cast<int>(weights.size()) != mixture.size())
                    throw std::invalid_argument("there is one weight for each species");
                return mixture.gas_constant(std::span<const double>(weights));
            },
            "weights"_a)
        .def(
            "heat_capacity",
            [](const Mixture& mixture, const Rows& weights, const Row& T) {
                return each(mixture, weights, T, [&](std::span<const double> w, std::size_t n) {
                    return mixture.heat_capacity(w, T.data()[n]);
                });
            },
            "weights"_a, "temperatures"_a)
        .def(
            "enthalpy",
            [](const Mixture& mixture, const Rows& weights, const Row& T) {
                return each(mixture, weights, T, [&](std::span<const double> w, std::size_t n) {
                    return mixture.enthalpy(w, T.data()[n]);
                });
            },
            "weights"_a, "temperatures"_a)
        .def(
            "entropy",
            [](const Mixture& mixture, const Rows& weights, const Row& T, const Row& p) {
                rows(mixture, weights, p);
                return each(mixture, weights, T, [&](std::span<const double> w, std::size_t n) {
                    return mixture.entropy(w, T.data()[n], p.data()[n]);
                });
            },
            "weights"_a, "temperatures"_a, "pressures"_a)
        .def(
            "sound_speed_of_temperature",
            [](const Mixture& mixture, const Rows& weights, const Row& T) {
                return each(mixture, weights, T, [&](std::span<const double> w, std::size_t n) {
                    return mixture.sound_speed(w, T.data()[n]);
                });
            },
            "weights"_a, "temperatures"_a)
        .def(
            "temperatures",
            [](const Mixture& mixture, const Rows& weights, const Row& energies,
               const Row& guesses) {
                rows(mixture, weights, guesses);
                std::vector<double> result(guesses.data(), guesses.data() + guesses.shape(0));
                mixture.set_temperatures(rows(mixture, weights, energies), span(energies), result);
                return array(std::move(result));
            },
            "weights"_a, "energies"_a, "guesses"_a,
            "Return temperatures of internal energies; NaN where there is none above zero.")
        .def(
            "pressures",
            [](const Mixture& mixture, const Rows& densities, const Row& temperatures) {
                const std::size_t size = temperatures.shape(0);
                std::vector<double> pressure(size), sound_speed(size);
                mixture.set_pressures(rows(mixture, densities, temperatures), span(temperatures),
                                      pressure, sound_speed);
                return nb::make_tuple(array(std::move(pressure)), array(std::move(sound_speed)));
            },
            "densities"_a, "temperatures"_a, "Return pressures and speeds of sound.")
        .def(
            "energies",
            [](const Mixture& mixture, const Rows& weights, const Row& temperatures) {
                const std::size_t size = temperatures.shape(0);
                std::vector<double> capacity(size), energy(size);
                mixture.set_energies(rows(mixture, weights, temperatures), span(temperatures),
                                     capacity, energy);
                return nb::make_tuple(array(std::move(capacity)), array(std::move(energy)));
            },
            "weights"_a, "temperatures"_a,
            "Return heat capacities at constant pressure, and internal energies.");
    nb::class_<jet::Sutherland>(module, "Sutherland")
        .def(nb::init<double, double, double>(), "viscosity"_a, "reference"_a = 273.15,
             "constant"_a = 110.4);
    nb::class_<jet::Molecule>(module, "Molecule")
        .def(
            "__init__",
            [](jet::Molecule* molecule, const std::string& shape, double well_depth,
               double diameter, double dipole, double rotational_relaxation) {
                using Shape = jet::Molecule::Shape;
                const std::map<std::string, Shape> shapes{{"atom", Shape::atom},
                                                          {"linear", Shape::linear},
                                                          {"nonlinear", Shape::nonlinear}};
                const auto entry = shapes.find(shape);
                if (entry == shapes.end())
                    throw std::invalid_argument("there is no shape of molecules '" + shape + "'");
                new (molecule) jet::Molecule{entry->second, well_depth, diameter, dipole,
                                             rotational_relaxation};
            },
            "shape"_a, "well_depth"_a, "diameter"_a, "dipole"_a = 0.0,
            "rotational_relaxation"_a = 0.0);
    nb::class_<Transport>(module, "Transport")
        .def(
            "__init__",
            [](Transport* transport, const Mixture& mixture, std::vector<Transport::Law> laws,
               std::optional<double> prandtl) {
                new (transport)
                    Transport(std::make_shared<const Mixture>(mixture), std::move(laws), prandtl);
            },
            "mixture"_a, "laws"_a, "prandtl"_a = nb::none())
        .def("viscosity", &Transport::viscosity, "species"_a, "temperature"_a)
        .def("conductivity", &Transport::conductivity, "species"_a, "temperature"_a)
        .def(
            "evaluate",
            [](const Transport& transport, const Rows& weights, const Row& temperatures) {
                const std::size_t size = temperatures.shape(0);
                std::vector<double> viscosity(size), conductivity(size);
                transport.set(rows(transport.mixture(), weights, temperatures), span(temperatures),
                              viscosity, conductivity);
                return nb::make_tuple(array(std::move(viscosity)), array(std::move(conductivity)));
            },
            "weights"_a, "temperatures"_a, "Return viscosities and conductivities.");
}

} // namespace uzushio::bindings
