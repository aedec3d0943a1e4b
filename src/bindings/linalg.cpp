#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/mpi_handle.hpp"
#include "linalg/solvers.hpp"
#include "parallel/communicator.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using domain::Decomposition;
using domain::Index;
using linalg::Condition;
using linalg::Equation;
using Values = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Target = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Faces = std::array<std::vector<double>, 3>;
using Conditions = std::array<std::pair<std::string, std::string>, 3>;
/// Coefficient on the faces normal to x, y and z of this rank's cells.
using Coefficient = std::optional<std::tuple<Values, Values, Values>>;

std::shared_ptr<const domain::Mesh> mesh_of(const Faces& faces, const Conditions& conditions,
                                            int dimension) {
    return domain::box_mesh(dimension, faces,
                            [&](const domain::Face& face) -> std::optional<std::string> {
                                const auto& [lower, upper] = conditions[face.axis];
                                if (lower == "periodic")
                                    return {};
                                return face.is_upper() ? upper : lower;
                            });
}

/// A solver on the blocks of the least surface, one a rank. The caller has checked the shapes of
/// arrays, on all ranks.
class BoxSolver {
  public:
    BoxSolver(std::uintptr_t comm, const Faces& faces, const Conditions& conditions, int dimension,
              double s, const std::string& name, double tolerance, int max_iterations,
              parallel::SectionMonitor& sections)
        : comm_(parallel::Communicator::duplicate(communicator(comm))), name_(name),
          limits_{tolerance, max_iterations},
          equation_{std::make_shared<Decomposition>(Decomposition::cartesian(
                        mesh_of(faces, conditions, dimension), comm_.size())),
                    {{"dirichlet", Condition::dirichlet}, {"neumann", Condition::neumann}},
                    s},
          sections_(sections) {
        const auto& decomposition = *equation_.decomposition;
        cells_ = decomposition.block(decomposition.blocks_of(comm_.rank())[0]).cells;
    }

    void prepare(const Coefficient& b) {
        if (b) {
            const domain::FieldSpec spec{.name = "b", .centring = domain::Centring::face};
            const auto field = std::make_shared<domain::Field<double>>(*equation_.decomposition,
                                                                       comm_.rank(), spec);
            const std::array arrays{&std::get<0>(*b), &std::get<1>(*b), &std::get<2>(*b)};
            for (std::size_t a = 0; a < field->arrays(); ++a)
                std::copy_n(arrays[a]->data(), arrays[a]->size(), field->view(0, a).data());
            equation_.b = field;
        }
        const nb::gil_scoped_release unlock;
        solver_ = linalg::make_solver(name_, comm_.get(), equation_, limits_, traffic_, sections_);
    }

    linalg::SolveReport solve(const Values& f, const Target& x) {
        const nb::gil_scoped_release unlock;
        return solver_->solve({{f.data(), cells_, 1}}, {{x.data(), cells_, 1}});
    }

    [[nodiscard]] std::pair<Index<3>, Index<3>> box() const {
        const auto cells = with_reversed_axes(cells_);
        return {cells.lower, cells.extents()};
    }
    [[nodiscard]] const linalg::LinearSolver& solver() const { return *solver_; }

  private:
    parallel::Communicator comm_;
    parallel::Traffic traffic_;
    std::string name_;
    linalg::IterationLimits limits_;
    Equation equation_;
    parallel::SectionMonitor& sections_;
    domain::Box<3> cells_; ///< of this rank
    std::unique_ptr<linalg::LinearSolver> solver_;
};

} // namespace

void bind_linalg(nb::module_& module) {
    module.def("solver_names", [] {
        std::vector<std::string> names;
        for (const std::string_view name : linalg::solver_names())
            names.emplace_back(name);
        return names;
    });
    nb::class_<linalg::SolveReport>(module, "SolveReport")
        .def_ro("solver", &linalg::SolveReport::solver)
        .def_ro("iterations", &linalg::SolveReport::iterations)
        .def_ro("residual", &linalg::SolveReport::residual)
        .def_ro("converged", &linalg::SolveReport::converged);
    nb::class_<BoxSolver>(module, "BoxSolver")
        .def(nb::init<std::uintptr_t, const Faces&, const Conditions&, int, double,
                      const std::string&, double, int, parallel::SectionMonitor&>(),
             "comm"_a, "faces"_a, "conditions"_a, "dimension"_a, "s"_a, "solver"_a, "tolerance"_a,
             "max_iterations"_a, "sections"_a, nb::keep_alive<1, 10>())
        .def("prepare", &BoxSolver::prepare, "b"_a.none(), "Prepare the solver (collective).")
        .def("solve", &BoxSolver::solve, "f"_a, "x"_a.noconvert(), "Solve (collective).")
        .def_prop_ro("box", &BoxSolver::box, "(start, count) of this rank's cells along z, y, x.")
        .def_prop_ro(
            "name", [](const BoxSolver& box) { return box.solver().name(); },
            "Name of the method that a solve begins with.")
        .def_prop_ro(
            "bytes", [](const BoxSolver& box) { return box.solver().bytes(); },
            "Bytes of this rank's arrays.");
}

} // namespace uzushio::bindings
