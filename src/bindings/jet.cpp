#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/block_solver.hpp"
#include "bindings/named.hpp"
#include "solvers/jet/jet_solver.hpp"
#include "solvers/jet/wall_model.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {
namespace {

const std::map<std::string, jet::Subgrid> subgrid_models{{"none", jet::Subgrid::none},
                                                         {"vreman", jet::Subgrid::vreman},
                                                         {"wale", jet::Subgrid::wale},
                                                         {"sigma", jet::Subgrid::sigma}};

} // namespace

void bind_jet(nb::module_& module) {
    bind_jet_gas(module);
    using domain::Vector;
    using Kind = jet::PatchCondition::Kind;
    nb::class_<jet::Species>(module, "Species")
        .def(nb::init<std::string, double, double, double>(), "name"_a, "gas_constant"_a,
             "heat_capacity"_a, "formation_energy"_a = 0.0);
    nb::class_<jet::Gas>(module, "Gas")
        .def(
            "__init__",
            [](jet::Gas* gas, std::vector<jet::Species> species, double viscosity,
               double reference_temperature, double sutherland, double prandtl, double schmidt,
               const std::optional<jet::Mixture>& polynomials,
               const std::optional<jet::Transport>& transport, double lewis) {
                new (gas) jet::Gas{std::move(species),
                                   {},
                                   viscosity,
                                   reference_temperature,
                                   sutherland,
                                   prandtl,
                                   schmidt,
                                   {},
                                   lewis};
                if (transport)
                    gas->transport = std::make_shared<const jet::Transport>(*transport);
                if (!polynomials)
                    return;
                gas->polynomials = std::make_shared<const jet::Mixture>(*polynomials);
                for (int s = 0; s < polynomials->size(); ++s)
                    gas->species.push_back(
                        {.name = polynomials->species()[static_cast<std::size_t>(s)].name,
                         .gas_constant = polynomials->gas_constant(s)});
            },
            "species"_a, "viscosity"_a = 0.0, "reference_temperature"_a = 1.0,
            "sutherland"_a = -1.0, "prandtl"_a = 0.72, "schmidt"_a = 0.7,
            "polynomials"_a = nb::none(), "transport"_a = nb::none(), "lewis"_a = 0.0,
            "With polynomials, `species` is empty: theirs are used.");
    nb::class_<jet::State>(module, "State")
        .def(nb::init<Vector, double, double, std::vector<double>>(), "velocity"_a, "pressure"_a,
             "temperature"_a, "mass_fractions"_a);
    nb::class_<jet::JetProfile>(module, "JetProfile")
        .def(nb::init<Vector, Vector, double, double, jet::State>(), "centre"_a, "axis"_a,
             "radius"_a, "thickness"_a, "surroundings"_a);
    nb::class_<jet::PatchCondition>(module, "PatchCondition")
        .def(
            "__init__",
            [](jet::PatchCondition* condition, const std::string& kind, jet::State state,
               std::optional<jet::JetProfile> profile, double relaxation, double length,
               double transverse) {
                const std::map<std::string, Kind> kinds{
                    {"supersonic_inflow", Kind::supersonic_inflow},
                    {"supersonic_outflow", Kind::supersonic_outflow},
                    {"inflow", Kind::inflow},
                    {"far_field", Kind::far_field},
                    {"characteristic_inflow", Kind::characteristic_inflow},
                    {"characteristic_outflow", Kind::characteristic_outflow},
                    {"slip_wall", Kind::slip_wall},
                    {"adiabatic_wall", Kind::adiabatic_wall},
                    {"isothermal_wall", Kind::isothermal_wall},
                    {"adiabatic_wall_model", Kind::adiabatic_wall_model},
                    {"isothermal_wall_model", Kind::isothermal_wall_model}};
                new (condition) jet::PatchCondition{named(kinds, kind, "boundary condition"),
                                                    std::move(state),
                                                    std::move(profile),
                                                    relaxation,
                                                    length,
                                                    transverse};
            },
            "kind"_a, "state"_a, "profile"_a = nb::none(), "relaxation"_a = 0.25, "length"_a = 1.0,
            "transverse"_a = -1.0);
    nb::class_<jet::Sponge>(module, "Sponge")
        .def(nb::init<Vector, Vector, bool, double, double, double, jet::State>(), "origin"_a,
             "axis"_a, "radial"_a, "begin"_a, "end"_a, "strength"_a, "state"_a);
    nb::class_<jet::JetParameters>(module, "JetParameters")
        .def(
            "__init__",
            [](jet::JetParameters* flow, const domain::Mesh& mesh, jet::Gas gas,
               std::map<std::string, jet::PatchCondition> conditions,
               std::vector<jet::Sponge> sponges, const Vector& acceleration,
               const std::string& scheme, const std::string& reconstruction,
               const std::string& subgrid, double subgrid_prandtl, double subgrid_schmidt) {
                const std::map<std::string, jet::Scheme> schemes{{"keep", jet::Scheme::keep},
                                                                 {"hybrid", jet::Scheme::hybrid},
                                                                 {"upwind", jet::Scheme::upwind}};
                const std::map<std::string, jet::Reconstruction> reconstructions{
                    {"muscl3", jet::Reconstruction::muscl3}, {"weno5", jet::Reconstruction::weno5}};
                new (flow) jet::JetParameters{};
                flow->mesh = std::make_shared<const domain::Mesh>(mesh);
                flow->gas = std::move(gas);
                flow->conditions = std::move(conditions);
                flow->sponges = std::move(sponges);
                flow->acceleration = acceleration;
                flow->scheme = named(schemes, scheme, "scheme");
                flow->reconstruction = named(reconstructions, reconstruction, "reconstruction");
                flow->subgrid = named(subgrid_models, subgrid, "subgrid model");
                flow->subgrid_prandtl = subgrid_prandtl;
                flow->subgrid_schmidt = subgrid_schmidt;
            },
            "mesh"_a, "gas"_a, "conditions"_a, "sponges"_a, "acceleration"_a, "scheme"_a,
            "reconstruction"_a, "subgrid"_a, "subgrid_prandtl"_a = 0.9, "subgrid_schmidt"_a = 0.9);
    module.def(
        "eddy_viscosity",
        [](const std::string& model, const std::array<double, 9>& gradient, double volume) {
            double g[9];
            std::copy(gradient.begin(), gradient.end(), g);
            return jet::eddy_viscosity(named(subgrid_models, model, "subgrid model"), g, volume);
        },
        "model"_a, "gradient"_a, "volume"_a,
        "Return the eddy viscosity over the density. Entry 3 i + j of the gradient is the "
        "derivative of velocity component i along axis j.");
    module.def(
        "wall_fluxes",
        [](double distance, double speed, double density, double temperature, double heat_capacity,
           double viscosity, std::optional<double> wall_temperature, double prandtl) {
            const jet::WallFluxes wall =
                jet::wall_fluxes({distance, speed, density, temperature, heat_capacity},
                                 wall_temperature, prandtl, [&](double) { return viscosity; });
            return nb::make_tuple(wall.stress, wall.heat, wall.temperature);
        },
        "distance"_a, "speed"_a, "density"_a, "temperature"_a, "heat_capacity"_a, "viscosity"_a,
        "wall_temperature"_a = nb::none(), "prandtl"_a = 0.9,
        "Return shear stress, heat that leaves the gas, and temperature of a wall by its model.");
    using unlocked = nb::call_guard<nb::gil_scoped_release>;
    bind_block_solver<jet::JetSolver>(module, "JetSolver")
        .def(nb::init<jet::JetParameters>(), "flow"_a)
        .def(
            "set_states",
            [](jet::JetSolver& solver, std::size_t block,
               const nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>&
                   values) {
                const domain::SolverBlock target = solver.block(block);
                const auto count = target.cells().extents();
                bool fits =
                    static_cast<int>(values.shape(0)) == target.field("conserved").components() + 1;
                for (std::size_t a = 0; a < 3; ++a)
                    fits = fits && static_cast<std::int64_t>(values.shape(3 - a)) == count[a];
                if (!fits)
                    throw std::invalid_argument("states are an array (variable, k, j, i)");
                std::vector<const double*> rows;
                for (std::size_t c = 0; c < values.shape(0); ++c)
                    rows.push_back(values.data() +
                                   c * static_cast<std::size_t>(target.cells().volume()));
                solver.set_states(block, rows);
            },
            "block"_a, "values"_a,
            "Set mass fractions, velocity, pressure and temperature, (variable, k, j, i).")
        .def(
            "centres",
            [](jet::JetSolver& solver, std::size_t block) {
                const domain::SolverBlock target = solver.block(block);
                const auto count = target.cells().extents();
                auto values = std::make_unique<std::vector<double>>();
                for (std::size_t c = 0; c < 3; ++c)
                    domain::for_indices(target.cells(), [&](const domain::Index<3>& at) {
                        values->push_back(target.centre(at)[c]);
                    });
                std::vector<double>* const kept = values.release();
                const nb::capsule owner(kept, [](void* all) noexcept {
                    delete static_cast<std::vector<double>*>(all);
                });
                const std::size_t shape[] = {3, static_cast<std::size_t>(count[2]),
                                             static_cast<std::size_t>(count[1]),
                                             static_cast<std::size_t>(count[0])};
                return nb::ndarray<nb::numpy, double>(kept->data(), 4, shape, owner);
            },
            "block"_a, "Return the positions of the centres of cells, (component, k, j, i).")
        .def("impossible_state", &jet::JetSolver::impossible_state,
             "Return place and state of this rank's first cell without positive pressure or "
             "density.")
        .def("limiting_cell", &jet::JetSolver::limiting_cell, unlocked(),
             "Return the smallest stable step of this rank's cells, with place and state "
             "(collective).")
        .def("outflows", &jet::JetSolver::outflows, unlocked(),
             "Return the fluxes of the conserved variables out of the mesh, by boundary condition "
             "(collective).")
        .def("integrals", &jet::JetSolver::integrals, unlocked(),
             "Return the integrals of the conserved variables, kinetic energy and entropy "
             "(collective).");
}

} // namespace uzushio::bindings
