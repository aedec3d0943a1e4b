#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/block_solver.hpp"
#include "domain/mesh.hpp"
#include "domain/next_step.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {
namespace {

using domain::Box;
using domain::Face;
using domain::Index;
using domain::Patch;
using domain::SolverBlock;
using domain::Vector;
using domain::Zone;
using Triple = std::array<std::int64_t, 3>;
/// Bounds of a patch along the two axes of its face, in ascending order of these.
using Range = std::optional<std::array<std::pair<std::int64_t, std::int64_t>, 2>>;
using Values = nb::ndarray<nb::numpy, double>;

Face face_of(const std::string& name) {
    for (const Face& face : domain::faces(3))
        if (face.name() == name)
            return face;
    throw std::invalid_argument("there is no face '" + name +
                                "'; there are: i-min, i-max, j-min, j-max, k-min, k-max");
}

Patch patch_of(const Zone& zone, const std::string& face, const Range& range) {
    Patch patch = Patch::whole(face_of(face), zone.cells);
    for (std::size_t a = 0; range && a < 2; ++a)
        std::tie(patch.range.lower[a], patch.range.upper[a]) = (*range)[a];
    return patch;
}

/// Coordinates along one axis as NumPy has them: (k, j, i), of any strides.
using Component = nb::ndarray<nb::ro, nb::ndim<3>, nb::device::cpu>;

/// Return coordinates in arrays that are not copied, in memory or mapped from a file.
domain::Coordinates array_coordinates(const Component& x, const Component& y, const Component& z,
                                      bool in_memory) {
    const auto arrays = std::make_shared<const std::array<Component, 3>>(std::array{x, y, z});
    const auto cells = [&](std::size_t axis) {
        return static_cast<std::int64_t>(x.shape(axis)) - 1;
    };
    std::int64_t bytes = 0;
    for (const Component& values : *arrays) {
        if (values.dtype() != nb::dtype<double>() && values.dtype() != nb::dtype<float>())
            throw std::invalid_argument("arrays of coordinates are of type float32 or float64");
        for (std::size_t a = 0; a < 3; ++a)
            if (values.shape(a) != x.shape(a))
                throw std::invalid_argument("the arrays of x, y and z have different shapes");
        bytes += in_memory ? static_cast<std::int64_t>(values.size() * values.itemsize()) : 0;
    }
    const auto vertex = [arrays](const Index<3>& index) {
        Vector position{};
        for (std::size_t c = 0; c < 3; ++c) {
            const Component& values = (*arrays)[c];
            const std::int64_t at = index[2] * values.stride(0) + index[1] * values.stride(1) +
                                    index[0] * values.stride(2);
            position[c] = values.dtype() == nb::dtype<double>()
                              ? static_cast<const double*>(values.data())[at]
                              : static_cast<const float*>(values.data())[at];
        }
        return position;
    };
    return domain::Coordinates::curvilinear({cells(2), cells(1), cells(0)}, vertex, bytes);
}

std::string face_name(const Patch& patch) { return patch.face.name(); }

std::array<std::pair<std::int64_t, std::int64_t>, 2> range_of(const Patch& patch) {
    const Box<2>& range = patch.range;
    return {{{range.lower[0], range.upper[0]}, {range.lower[1], range.upper[1]}}};
}

nb::list boundaries_of(const Zone& zone) {
    nb::list all;
    for (const domain::BoundaryPatch& b : zone.boundaries)
        all.append(nb::make_tuple(face_name(b.patch), range_of(b.patch), b.condition));
    return all;
}

nb::list connections_of(const Zone& zone) {
    nb::list all;
    for (const domain::Connection& c : zone.connections)
        all.append(nb::make_tuple(face_name(c.patch), range_of(c.patch), c.donor,
                                  face_name(c.donor_patch), range_of(c.donor_patch),
                                  c.transform.vector(), c.translation));
    return all;
}

nb::ndarray<nb::numpy, double, nb::ndim<4>> vertices_of(const Zone& zone) {
    const auto count = [&](std::size_t axis) {
        return static_cast<std::size_t>(zone.cells[axis] + 1);
    };
    auto values = std::make_unique<std::vector<double>>();
    values->reserve(3 * count(0) * count(1) * count(2));
    for (std::int64_t k = 0; k <= zone.cells[2]; ++k)
        for (std::int64_t j = 0; j <= zone.cells[1]; ++j)
            for (std::int64_t i = 0; i <= zone.cells[0]; ++i)
                for (const double component : zone.coordinates.vertex({i, j, k}))
                    values->push_back(component);
    double* data = values->data();
    const nb::capsule owner(values.release(), [](void* kept) noexcept {
        delete static_cast<std::vector<double>*>(kept);
    });
    return {data, {count(2), count(1), count(0), 3}, owner};
}

void bind_mesh(nb::module_& module) {
    using domain::Coordinates;
    nb::class_<Coordinates>(module, "Coordinates")
        .def_static("uniform", &Coordinates::uniform, "origin"_a, "spacing"_a,
                    "Vertex (i, j, k) is at origin + (i, j, k) spacing; both along x, y, z.")
        .def_static(
            "rectilinear",
            [](std::vector<double> x, std::vector<double> y, std::vector<double> z) {
                return Coordinates::rectilinear({std::move(x), std::move(y), std::move(z)});
            },
            "x"_a, "y"_a, "z"_a, "Vertex (i, j, k) is at (x[i], y[j], z[k]).")
        .def_static(
            "curvilinear",
            [](const nb::ndarray<const double, nb::shape<-1, -1, -1, 3>, nb::c_contig,
                                 nb::device::cpu>& vertices) {
                std::array<std::vector<double>, 3> xyz;
                const std::size_t count = vertices.shape(0) * vertices.shape(1) * vertices.shape(2);
                for (std::size_t v = 0; v < count; ++v)
                    for (std::size_t c = 0; c < 3; ++c)
                        xyz[c].push_back(vertices.data()[3 * v + c]);
                const auto cells = [&](std::size_t axis) {
                    return static_cast<std::int64_t>(vertices.shape(axis)) - 1;
                };
                return Coordinates::curvilinear({cells(2), cells(1), cells(0)}, std::move(xyz));
            },
            "vertices"_a, "x, y and z of all vertices, (k, j, i, 3).")
        .def_static("arrays", &array_coordinates, "x"_a, "y"_a, "z"_a, "in_memory"_a = true,
                    "Coordinates in arrays (k, j, i) of float64 or float32, which are not copied "
                    "and must not change. in_memory: whether they count as memory of each rank; "
                    "those that are mapped from a file do not.");
    nb::class_<Zone>(module, "Zone", "Structured zone; indices are in the order i, j, k.")
        .def(
            "__init__",
            [](Zone* zone, std::string name, Triple cells, Coordinates coordinates) {
                new (zone) Zone{std::move(name), cells, std::move(coordinates), {}, {}};
            },
            "name"_a, "cells"_a, "coordinates"_a)
        .def_prop_ro("name", [](const Zone& zone) { return zone.name; })
        .def_prop_ro("cells", [](const Zone& zone) { return zone.cells; })
        .def_prop_ro("boundaries", &boundaries_of,
                     "Face, range and name of the condition of each boundary patch.")
        .def_prop_ro("connections", &connections_of,
                     "Face, range, donor, donor's face and range, transform and translation of "
                     "each connection; both directions are connections.")
        .def("vertices", &vertices_of, "Return the positions of all vertices, (k, j, i, 3).")
        .def(
            "set_boundary",
            [](Zone& zone, const std::string& face, std::string condition, const Range& range) {
                zone.boundaries.push_back({patch_of(zone, face, range), std::move(condition)});
            },
            "face"_a, "condition"_a, "range"_a = nb::none(),
            "Name the boundary condition of a face (i-min … k-max), or of a part of it: the "
            "ranges of cells along its two axes.");
    module.def(
        "connect",
        [](Zone& zone, const std::string& face, Zone& donor, const std::string& donor_face,
           const std::array<int, 3>& transform, const Vector& translation, const Range& range,
           const Range& donor_range) {
            domain::connect(zone, patch_of(zone, face, range), donor,
                            patch_of(donor, donor_face, donor_range), domain::Transform(transform),
                            translation);
        },
        "zone"_a, "face"_a, "donor"_a, "donor_face"_a, "transform"_a = std::array{1, 2, 3},
        "translation"_a = Vector{}, "range"_a = nb::none(), "donor_range"_a = nb::none(),
        "Connect two faces one-to-one, in both directions. Entry a of the transform (CGNS) is the "
        "donor's axis, from 1, along which axis a runs; negative: in reverse. The donor's position "
        "is the zone's plus the translation.");
    module.def(
        "connect_periodic",
        [](Zone& zone, const std::string& axis, const Vector& period) {
            const std::size_t number = std::string("ijk").find(axis);
            if (axis.size() != 1 || number > 2)
                throw std::invalid_argument("an axis is i, j or k, not '" + axis + "'");
            domain::connect_periodic(zone, number, period);
        },
        "zone"_a, "axis"_a, "period"_a,
        "Connect the faces of an axis of a zone to each other; the period is along x, y, z.");
    module.def("next_step", &domain::next_step, "longest"_a, "left"_a,
               "Return the length of the next step towards a time that is `left` away.");
    nb::class_<domain::Mesh>(module, "Mesh", "Validated zones; the same on all ranks.")
        .def(
            "__init__",
            [](domain::Mesh* mesh, const std::vector<const Zone*>& zones, int dimension) {
                std::vector<Zone> all;
                for (const Zone* zone : zones)
                    all.push_back(*zone);
                new (mesh) domain::Mesh(dimension, std::move(all));
            },
            "zones"_a, "dimension"_a = 3)
        .def_prop_ro("dimension", &domain::Mesh::dimension, "Number of dimensions.")
        .def_prop_ro("zones", &domain::Mesh::zones, "The zones, which must not change.",
                     nb::rv_policy::reference_internal);
}

/// Ghosts beyond a boundary, as Python fills them.
struct PythonGhosts {
    domain::BoundaryGhosts ghosts;
};

struct FillHolder {
    domain::GhostFill fill;
};

void bind_declaration(nb::module_& module) {
    using domain::Centring;
    nb::class_<FillHolder>(module, "BoundaryCondition");
    module.def(
        "fixed_value", [](double value) { return FillHolder{domain::fixed_value(value)}; },
        "value"_a, "Return the condition of a field that has this value at the boundary.");
    module.def(
        "zero_gradient", [] { return FillHolder{domain::zero_gradient()}; },
        "Return the condition of a field without gradient across the boundary.");
    nb::class_<PythonGhosts>(module, "BoundaryGhosts", "Ghosts of a block beyond a boundary.")
        .def_prop_ro("block", [](const PythonGhosts& self) { return self.ghosts.region->local; })
        .def_prop_ro(
            "values",
            [](const PythonGhosts& self) {
                return numpy_view(self.ghosts.values, self.ghosts.box, nb::find(&self));
            },
            "The ghosts, (component, k, j, i).")
        .def_prop_ro(
            "mirrored",
            [](const PythonGhosts& self) {
                const domain::View<double>& view = self.ghosts.values;
                const Box<3>& box = self.ghosts.box;
                Values all = numpy_view(view, box, nb::find(&self));
                const std::size_t axis = self.ghosts.region->patch.face.axis;
                std::size_t shape[4];
                std::int64_t strides[4];
                for (std::size_t a = 0; a < 4; ++a) {
                    shape[a] = all.shape(a);
                    strides[a] = all.stride(a);
                }
                strides[3 - axis] *= -1;
                return Values(view.data() + view.offset(self.ghosts.mirrored(box.lower)), 4, shape,
                              nb::find(&self), strides);
            },
            "Their mirror images in the boundary, in the order of the ghosts.");
    nb::class_<domain::FieldDeclaration>(module, "Field", "Field that a solver declares.")
        .def(
            "__init__",
            [](domain::FieldDeclaration* field, std::string name, int components, int ghosts,
               const std::string& centring, const std::string& kind, std::string unit,
               std::string description,
               const std::map<std::string,
                              std::variant<FillHolder, std::function<void(PythonGhosts, double)>>>&
                   boundaries) {
                const std::map<std::string, Centring> centrings{{"cell", Centring::cell},
                                                                {"face", Centring::face},
                                                                {"vertex", Centring::vertex}};
                if (!centrings.contains(centring))
                    throw std::invalid_argument("values lie at cell, face or vertex, not at '" +
                                                centring + "'");
                const std::map<std::string, domain::FieldKind> kinds{
                    {"evolved", domain::FieldKind::evolved},
                    {"derived", domain::FieldKind::derived},
                    {"output", domain::FieldKind::output}};
                if (!kinds.contains(kind))
                    throw std::invalid_argument(
                        "the kind of a field is evolved, derived or output, not '" + kind + "'");
                new (field) domain::FieldDeclaration{
                    {std::move(name), components, ghosts, centrings.at(centring)},
                    kinds.at(kind),
                    std::move(unit),
                    std::move(description),
                    {}};
                for (const auto& [condition, given] : boundaries)
                    if (const auto* holder = std::get_if<FillHolder>(&given))
                        field->boundaries[condition] = holder->fill;
                    else
                        field->boundaries[condition] =
                            [call = std::get<1>(given)](const domain::BoundaryGhosts& beyond,
                                                        double time) {
                                if (!beyond.box.empty())
                                    call({beyond}, time);
                            };
            },
            "name"_a, "components"_a = 1, "ghosts"_a = 1, "centring"_a = "cell",
            "kind"_a = "evolved", "unit"_a = "1", "description"_a = "",
            "boundaries"_a = nb::dict());
    nb::class_<domain::SolverDeclaration>(module, "Declaration",
                                          "What a solver declares: mesh, fields, scheme in time.")
        .def(
            "__init__",
            [](domain::SolverDeclaration* declaration, const domain::Mesh& mesh,
               std::vector<domain::FieldDeclaration> fields, const std::string& scheme,
               const std::string& reach, double max_imbalance) {
                const std::map<std::string, domain::Reach> reaches{
                    {"faces", domain::Reach::faces},
                    {"edges", domain::Reach::edges},
                    {"corners", domain::Reach::corners}};
                if (!reaches.contains(reach))
                    throw std::invalid_argument(
                        "ghosts reach to faces, edges or corners, not to '" + reach + "'");
                new (declaration) domain::SolverDeclaration{
                    std::make_shared<const domain::Mesh>(mesh), std::move(fields),
                    domain::time_scheme(scheme), reaches.at(reach), max_imbalance};
            },
            "mesh"_a, "fields"_a, "scheme"_a = "wray_rk3", "reach"_a = "faces",
            "max_imbalance"_a = 1.05);
}

/// Solver whose functions are Python's.
class PythonSolver : public domain::BlockSolver {
  public:
    using Work = std::function<void(SolverBlock)>;
    using TimedWork = std::function<void(SolverBlock, double)>;

    PythonSolver(domain::SolverDeclaration declaration, Work initial, TimedWork rhs,
                 std::function<double(SolverBlock)> stable_dt,
                 std::function<void(SolverBlock, std::string, double)> derive, Work prepare,
                 std::function<void(double)> before_rhs,
                 std::function<void(double, double)> project)
        : declared_(std::move(declaration)), initial_(std::move(initial)), rhs_(std::move(rhs)),
          stable_dt_(std::move(stable_dt)), derive_(std::move(derive)),
          prepare_(std::move(prepare)), before_rhs_(std::move(before_rhs)),
          project_(std::move(project)) {}

  protected:
    [[nodiscard]] domain::SolverDeclaration declare() const override { return declared_; }
    void initial(const SolverBlock& block) override { initial_(block); }
    void derive(const SolverBlock& block, std::string_view field, double time) override {
        derive_(block, std::string(field), time);
    }
    void prepare(const SolverBlock& block) override {
        if (prepare_)
            prepare_(block);
    }
    void before_rhs(double time) override {
        if (before_rhs_)
            before_rhs_(time);
    }
    void project(double time, double dt) override {
        if (project_)
            project_(time, dt);
    }
    void rhs(const SolverBlock& block, double time) override { rhs_(block, time); }
    double stable_dt(const SolverBlock& block) override { return stable_dt_(block); }

  private:
    domain::SolverDeclaration declared_;
    Work initial_;
    TimedWork rhs_;
    std::function<double(SolverBlock)> stable_dt_;
    std::function<void(SolverBlock, std::string, double)> derive_;
    Work prepare_;
    std::function<void(double)> before_rhs_;
    std::function<void(double, double)> project_;
};

} // namespace

void bind_domain(nb::module_& module) {
    bind_mesh(module);
    bind_declaration(module);
    const auto array = [](const SolverBlock& self, const domain::View<double>& view) {
        return numpy_view(view, view.box(), nb::find(&self));
    };
    nb::class_<SolverBlock>(module, "Block",
                            "Block of this rank, valid until the function that got it returns. "
                            "Arrays are (component, k, j, i), in the solver's memory.")
        .def_prop_ro("number", &SolverBlock::local, "Its place among this rank's blocks.")
        .def_prop_ro("zone", [](const SolverBlock& self) { return self.zone().name; })
        .def_prop_ro(
            "lower", [](const SolverBlock& self) { return self.cells().lower; },
            "Index (i, j, k) of the first cell in the zone.")
        .def_prop_ro(
            "cells", [](const SolverBlock& self) { return self.cells().extents(); },
            "Number of cells along i, j, k.")
        .def(
            "field",
            [array](const SolverBlock& self, const std::string& name, std::size_t axis) {
                return array(self, self.field(name, axis));
            },
            "name"_a, "axis"_a = 0, "Return a field with its ghosts.")
        .def(
            "derivative",
            [array](const SolverBlock& self, const std::string& name, std::size_t axis) {
                return array(self, self.derivative(name, axis));
            },
            "name"_a, "axis"_a = 0, "Return the time derivative of a field, to be set by rhs.")
        .def_prop_ro(
            "centres",
            [](const SolverBlock& self) {
                const domain::View<const double> view = self.centres();
                return numpy_view(view, view.box(), nb::find(&self));
            },
            "x, y and z of the cell centres, with the ghosts.");
    bind_block_solver<PythonSolver>(module, "BlockSolver")
        .def(nb::init<domain::SolverDeclaration, PythonSolver::Work, PythonSolver::TimedWork,
                      std::function<double(SolverBlock)>,
                      std::function<void(SolverBlock, std::string, double)>, PythonSolver::Work,
                      std::function<void(double)>, std::function<void(double, double)>>(),
             "declaration"_a, "initial"_a, "rhs"_a, "stable_dt"_a, "derive"_a,
             "prepare"_a = nb::none(), "before_rhs"_a = nb::none(), "project"_a = nb::none());
}

} // namespace uzushio::bindings
