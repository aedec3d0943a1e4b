#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/mpi_handle.hpp"
#include "phasefield/model.hpp"
#include "stencil/replay.hpp"
#include "stencil/scheme.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using phasefield::Blocking;
using phasefield::Model;
using phasefield::Trajectory;
using Field = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Seen = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Stack = nb::ndarray<const double, nb::ndim<3>, nb::device::cpu>;

/// Observations with the arrays that they look at.
struct Observed {
    Stack values;
    std::optional<Stack> weights;
    phasefield::Observed seen;
};

phasefield::Stack stack_of(const Stack& array) {
    return {array.data(), array.stride(1), array.shape(0) > 1 ? array.stride(0) : 0};
}

const phasefield::Observed* seen_by(const Observed* observed) {
    return observed ? &observed->seen : nullptr;
}

void construct(Model* self, std::uintptr_t comm, int nx, int ny, double diffusion, double reaction,
               bool periodic, const Blocking& blocking) {
    const nb::gil_scoped_release unlock;
    new (self) Model(communicator(comm), nx, ny, {diffusion, reaction, periodic}, blocking);
}

std::unique_ptr<Observed> observe(const Model& model, std::vector<int> steps, Stack values,
                                  std::optional<Stack> weights, double weight) {
    const auto layers = stack_of(values);
    const auto weighing = weights ? stack_of(*weights) : phasefield::Stack{};
    phasefield::Observed seen = [&] {
        const nb::gil_scoped_release unlock;
        return phasefield::Observed(model.frame(), std::move(steps), layers, weighing, weight);
    }();
    return std::make_unique<Observed>(
        Observed{std::move(values), std::move(weights), std::move(seen)});
}

std::pair<std::pair<int, int>, std::pair<int, int>> own(const Model& model) {
    const auto& [x, y] = model.own();
    return {{y.begin, y.end}, {x.begin, x.end}};
}

/// Messages, bytes, points, redundant points.
std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t> counters(const Model& model) {
    const auto all = model.counters();
    return {all.messages, all.bytes, all.points, all.redundant};
}

nb::ndarray<nb::numpy, double, nb::ndim<2>> field(const Trajectory& trajectory, int step) {
    const auto& [x, y] = trajectory.own();
    const auto columns = static_cast<std::size_t>(x.size());
    const auto rows = static_cast<std::size_t>(y.size());
    auto values = std::make_unique<double[]>(rows * columns);
    trajectory.copy(step, values.get());
    double* data = values.get();
    const nb::capsule owner(values.release(),
                            [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return {data, {rows, columns}, owner};
}

} // namespace

void bind_phasefield(nb::module_& module) {
    nb::class_<Blocking>(module, "Blocking")
        .def(nb::init<>())
        .def_rw("x_tile", &Blocking::x_tile)
        .def_rw("y_tile", &Blocking::y_tile)
        .def_rw("forward_steps", &Blocking::forward_steps)
        .def_rw("backward_steps", &Blocking::backward_steps)
        .def_rw("scheme", &Blocking::scheme)
        .def_rw("threads", &Blocking::threads)
        .def_rw("overlap", &Blocking::overlap)
        .def_rw("replayed", &Blocking::replayed)
        .def_prop_rw(
            "cache_rows", [](const Blocking& b) { return b.cache.rows; },
            [](Blocking& b, int rows) { b.cache.rows = rows; })
        .def_prop_rw(
            "cache_columns", [](const Blocking& b) { return b.cache.columns; },
            [](Blocking& b, int columns) { b.cache.columns = columns; })
        .def_prop_rw(
            "cache_steps", [](const Blocking& b) { return b.cache.steps; },
            [](Blocking& b, int steps) { b.cache.steps = steps; });

    nb::class_<Trajectory>(module, "Trajectory")
        .def_prop_ro("bytes", &Trajectory::bytes)
        .def_prop_ro("steps", &Trajectory::steps)
        .def_prop_ro("every", &Trajectory::every)
        .def(
            "append",
            [](Trajectory& trajectory, const Seen& phi) { trajectory.append(phi.data()); },
            "phi"_a.noconvert())
        .def("field", &field, "step"_a);
    nb::class_<Observed>(module, "Observed");

    module.def("schemes", [] {
        std::vector<std::string> names;
        for (const auto& scheme : stencil::schemes())
            names.emplace_back(scheme.name);
        return names;
    });

    module.attr("max_replayed") = stencil::Replay::max_steps;

    // Arrays are looked at where they lie: a conversion would be a copy.
    nb::class_<Model>(module, "Model")
        .def("__init__", &construct, "comm"_a, "nx"_a, "ny"_a, "diffusion"_a, "reaction"_a,
             "periodic"_a, "blocking"_a)
        .def_prop_ro("own", &own)
        .def_prop_ro("bytes", &Model::bytes)
        .def_prop_ro("last_sum",
                     [](const Model& model) {
                         const auto sum = model.last_sum();
                         return std::pair(sum.high, sum.low);
                     })
        .def_prop_ro("last_misfit",
                     [](const Model& model) {
                         const auto sum = model.last_misfit();
                         return std::pair(sum.high, sum.low);
                     })
        .def("counters", &counters)
        .def("fits", &Model::fits, "trajectory"_a, "first"_a, "last"_a)
        .def(
            "new_trajectory",
            [](const Model& model, int steps) {
                return std::make_unique<Trajectory>(model.trajectory(steps));
            },
            "steps"_a, nb::keep_alive<0, 1>(), nb::call_guard<nb::gil_scoped_release>())
        .def(
            "new_checkpoints",
            [](const Model& model, int steps) {
                return std::make_unique<Trajectory>(model.checkpoints(steps));
            },
            "steps"_a, nb::keep_alive<0, 1>(), nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("every", &Model::every)
        .def("observe", &observe, "steps"_a, "values"_a.noconvert(), "weights"_a.noconvert().none(),
             "weight"_a, nb::keep_alive<0, 1>())
        .def(
            "forward",
            [](Model& model, const Field& phi, double m, int first, int last,
               Trajectory* trajectory, const Observed* observed) {
                const nb::gil_scoped_release unlock;
                return model.forward(phi.data(), m, first, last, trajectory, seen_by(observed));
            },
            "phi"_a.noconvert(), "m"_a, "first"_a, "last"_a, "trajectory"_a.none(),
            "observed"_a.none())
        .def(
            "misfit",
            [](const Model& model, const Seen& phi, int step, const Observed& observed) {
                const nb::gil_scoped_release unlock;
                return model.misfit(phi.data(), step, observed.seen);
            },
            "phi"_a.noconvert(), "step"_a, "observed"_a)
        .def(
            "adjoint",
            [](Model& model, const Field& lambda, double m, int first, int last,
               Trajectory& trajectory, const Observed* observed, Trajectory* kept, bool misfit) {
                const nb::gil_scoped_release unlock;
                return model.adjoint(lambda.data(), m, first, last, trajectory, seen_by(observed),
                                     kept, misfit);
            },
            "lam"_a.noconvert(), "m"_a, "first"_a, "last"_a, "trajectory"_a, "observed"_a.none(),
            "kept"_a.none(), "misfit"_a)
        .def(
            "tangent",
            [](Model& model, const Field& dphi, double dm, double m, int first, int last,
               Trajectory& trajectory, Trajectory* kept) {
                const nb::gil_scoped_release unlock;
                model.tangent(dphi.data(), dm, m, first, last, trajectory, kept);
            },
            "dphi"_a.noconvert(), "dm"_a, "m"_a, "first"_a, "last"_a, "trajectory"_a,
            "kept"_a.none())
        .def(
            "second_order",
            [](Model& model, const Field& mu, double dm, double m, int first, int last,
               Trajectory& trajectory, Trajectory& tangent, Trajectory* adjoint,
               const Observed* observed) {
                const nb::gil_scoped_release unlock;
                return model.second_order(mu.data(), dm, m, first, last, trajectory, tangent,
                                          adjoint, seen_by(observed));
            },
            "mu"_a.noconvert(), "dm"_a, "m"_a, "first"_a, "last"_a, "trajectory"_a, "tangent"_a,
            "adjoint"_a.none(), "observed"_a.none())
        .def(
            "dot",
            [](const Model& model, const Seen& a, const Seen& b) {
                const nb::gil_scoped_release unlock;
                return model.dot(a.data(), b.data());
            },
            "a"_a.noconvert(), "b"_a.noconvert());
}

} // namespace uzushio::bindings
