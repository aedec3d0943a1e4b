#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/block_solver.hpp"
#include "bindings/named.hpp"
#include "geometry/shapes.hpp"
#include "geometry/stl.hpp"
#include "solvers/thermal/flow_solver.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using thermal::FaceCondition;

} // namespace

void bind_thermal(nb::module_& module) {
    using thermal::FlowParameters;
    using Kind = FaceCondition::Kind;
    nb::exception<thermal::Diverged>(module, "Diverged");
    nb::class_<thermal::ScalarCondition>(module, "ScalarCondition")
        .def(nb::init<bool, double>(), "fixed"_a, "value"_a);
    nb::class_<FaceCondition>(module, "FaceCondition")
        .def(
            "__init__",
            [](FaceCondition* condition, const std::string& kind, const domain::Vector& velocity,
               std::vector<thermal::ScalarCondition> scalars) {
                const std::map<std::string, Kind> kinds{{"wall", Kind::wall},
                                                        {"inflow", Kind::inflow},
                                                        {"outflow", Kind::outflow},
                                                        {"symmetry", Kind::symmetry}};
                new (condition) FaceCondition{named(kinds, kind, "boundary condition"), velocity,
                                              std::move(scalars)};
            },
            "kind"_a, "velocity"_a, "scalars"_a);
    nb::class_<thermal::Scalar>(module, "Scalar")
        .def(nb::init<std::string, double, domain::Vector, double, std::string>(), "name"_a,
             "diffusivity"_a, "buoyancy"_a, "reference"_a, "unit"_a);
    nb::class_<geometry::Surface>(module, "Surface")
        .def_prop_ro("corners", [](const geometry::Surface& surface) {
            const geometry::Bounds bounds = surface.bounds();
            return std::pair(bounds.lower, bounds.upper);
        });
    nb::class_<geometry::Triangles, geometry::Surface>(module, "Triangles")
        .def_prop_ro("open_sides", &geometry::Triangles::open_sides)
        .def("__getstate__",
             [](const geometry::Triangles& triangles) {
                 return nb::bytes(triangles.all().data(), triangles.all().size_bytes());
             })
        .def("__setstate__",
             [](geometry::Triangles& triangles, const nb::bytes& state) {
                 std::vector<geometry::Triangle> all(state.size() / sizeof(geometry::Triangle));
                 std::memcpy(all.data(), state.data(), state.size());
                 new (&triangles) geometry::Triangles(std::move(all));
             })
        .def_prop_ro("undecided", [](const geometry::Triangles& triangles) {
            std::optional<std::pair<domain::Vector, std::string>> undecided;
            if (const auto& place = triangles.undecided())
                undecided.emplace(place->at, place->reason);
            return undecided;
        });
    module.def(
        "stl",
        [](const std::string& file, double scale, const domain::Vector& offset) {
            return std::make_shared<geometry::Triangles>(
                geometry::read_stl(file, scale, offset).triangles);
        },
        "file"_a, "scale"_a, "offset"_a);
    module.def("sphere", &geometry::sphere, "centre"_a, "radius"_a);
    module.def("box", &geometry::box, "lower"_a, "upper"_a);
    module.def("cylinder", &geometry::cylinder, "centre"_a, "radius"_a, "axis"_a, "length"_a);
    using thermal::BodyCondition;
    nb::class_<BodyCondition>(module, "BodyCondition")
        .def(
            "__init__",
            [](BodyCondition* condition, const std::string& kind, double value, double conductivity,
               double capacity) {
                const std::map<std::string, BodyCondition::Kind> kinds{
                    {"flux", BodyCondition::Kind::flux},
                    {"fixed", BodyCondition::Kind::fixed},
                    {"conjugate", BodyCondition::Kind::conjugate}};
                new (condition) BodyCondition{named(kinds, kind, "condition of a body"), value,
                                              conductivity, capacity};
            },
            "kind"_a, "value"_a, "conductivity"_a = 1.0, "capacity"_a = 1.0);
    nb::class_<thermal::Body>(module, "Body")
        .def(
            "__init__",
            [](thermal::Body* body, std::string name, std::shared_ptr<geometry::Surface> surface,
               std::vector<BodyCondition> scalars) {
                new (body) thermal::Body{std::move(name), std::move(surface), std::move(scalars)};
            },
            "name"_a, "surface"_a, "scalars"_a);
    nb::class_<thermal::SubgridModel>(module, "SubgridModel")
        .def(
            "__init__",
            [](thermal::SubgridModel* model, const std::string& kind,
               std::optional<double> constant, double prandtl) {
                using ModelKind = thermal::SubgridModel::Kind;
                const std::map<std::string, ModelKind> kinds{
                    {"smagorinsky", ModelKind::smagorinsky},
                    {"wale", ModelKind::wale},
                    {"vreman", ModelKind::vreman}};
                new (model)
                    thermal::SubgridModel{named(kinds, kind, "subgrid model"), constant, prandtl};
            },
            "kind"_a, "constant"_a, "prandtl"_a);
    nb::class_<FlowParameters>(module, "FlowParameters")
        .def(
            "__init__",
            [](FlowParameters* flow, int dimension, std::array<std::vector<double>, 3> vertices,
               const std::array<bool, 3>& periodic, std::map<std::string, FaceCondition> faces,
               double viscosity, const domain::Vector& force, std::vector<thermal::Scalar> scalars,
               std::vector<thermal::Body> bodies, std::vector<domain::Vector> seeds,
               const std::optional<thermal::SubgridModel>& subgrid, const std::string& scheme,
               std::string solver, double tolerance, int max_iterations,
               const domain::PartCounts& counts) {
                const std::map<std::string, thermal::Scheme> schemes{
                    {"central", thermal::Scheme::central}, {"van_leer", thermal::Scheme::van_leer}};
                new (flow) FlowParameters{};
                flow->dimension = dimension;
                flow->vertices = std::move(vertices);
                flow->periodic = periodic;
                flow->faces = std::move(faces);
                flow->viscosity = viscosity;
                flow->force = force;
                flow->scalars = std::move(scalars);
                flow->bodies = std::move(bodies);
                flow->seeds = std::move(seeds);
                if (subgrid)
                    flow->subgrid = *subgrid;
                flow->scheme = named(schemes, scheme, "advection scheme");
                flow->solver = std::move(solver);
                flow->limits = {tolerance, max_iterations};
                flow->counts = counts;
            },
            "dimension"_a, "vertices"_a, "periodic"_a, "faces"_a, "viscosity"_a, "force"_a,
            "scalars"_a, "bodies"_a, "seeds"_a, "subgrid"_a.none(), "scheme"_a, "solver"_a,
            "tolerance"_a, "max_iterations"_a, "counts"_a);
    bind_block_solver<thermal::FlowSolver>(module, "FlowSolver")
        .def(nb::init<FlowParameters>(), "flow"_a)
        .def("max_divergence", &thermal::FlowSolver::max_divergence,
             nb::call_guard<nb::gil_scoped_release>(),
             "Return the maximum magnitude of the divergence of the velocity (collective).")
        .def("kinetic_energy", &thermal::FlowSolver::kinetic_energy,
             nb::call_guard<nb::gil_scoped_release>(),
             "Return the integral of half the square of the velocity (collective).")
        .def("scalar_fluxes", &thermal::FlowSolver::scalar_fluxes, "scalar"_a,
             nb::call_guard<nb::gil_scoped_release>(),
             "Return the mean fluxes of a scalar into the box through i-min, i-max, j-min, ... "
             "(collective).")
        .def("body_forces", &thermal::FlowSolver::body_forces,
             nb::call_guard<nb::gil_scoped_release>(),
             "Return the forces of the flow on the bodies, over the density (collective).")
        .def("body_fluxes", &thermal::FlowSolver::body_fluxes, "scalar"_a,
             nb::call_guard<nb::gil_scoped_release>(),
             "Return the mean flux of a scalar from each body into the flow (collective).");
}

} // namespace uzushio::bindings
