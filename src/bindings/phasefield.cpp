#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/double_double.hpp"
#include "bindings/field_span.hpp"
#include "bindings/mpi_handle.hpp"
#include "solvers/phasefield/model.hpp"
#include "stencil/blocking_scheme.hpp"
#include "stencil/replay.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using phasefield::AdjointResult;
using phasefield::Blocking;
using phasefield::LayeredRows;
using phasefield::Model;
using phasefield::Observations;
using phasefield::Trajectory;
using stencil::CacheBlocking;
using stencil::SweepCounters;
using Layers = nb::ndarray<const double, nb::ndim<3>, nb::device::cpu>;

LayeredRows rows_of(const Layers& array) {
    return {array.data(), array.stride(1), array.shape(0) > 1 ? array.stride(0) : 0};
}

void construct(Model* self, std::uintptr_t comm, int nx, int ny, double diffusion, double reaction,
               bool periodic, const Blocking& blocking) {
    const nb::gil_scoped_release unlock;
    new (self) Model(communicator(comm), nx, ny, {diffusion, reaction, periodic}, blocking);
}

Observations observe(const Model& model, std::vector<int> steps, const Layers& values,
                     const std::optional<Layers>& weights, double weight, double huber) {
    const LayeredRows weight_rows = weights ? rows_of(*weights) : LayeredRows{};
    const nb::gil_scoped_release unlock;
    return {model.halo(), std::move(steps), rows_of(values), weight_rows, weight, huber};
}

std::pair<std::pair<int, int>, std::pair<int, int>> own(const Model& model) {
    const auto& [x, y] = model.own();
    return {{y.begin, y.end}, {x.begin, x.end}};
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

std::vector<std::string> scheme_names() {
    std::vector<std::string> names;
    for (const auto& scheme : stencil::schemes())
        names.emplace_back(scheme.name);
    return names;
}

void bind_data(nb::module_& module) {
    nb::class_<CacheBlocking>(module, "CacheBlocking")
        .def_rw("rows", &CacheBlocking::rows)
        .def_rw("columns", &CacheBlocking::columns)
        .def_rw("steps", &CacheBlocking::steps);
    nb::class_<Blocking>(module, "Blocking")
        .def(nb::init<>())
        .def_rw("x_tile", &Blocking::x_tile)
        .def_rw("y_tile", &Blocking::y_tile)
        .def_rw("forward_steps", &Blocking::forward_steps)
        .def_rw("backward_steps", &Blocking::backward_steps)
        .def_rw("scheme", &Blocking::scheme)
        .def_rw("threads", &Blocking::threads)
        .def_rw("overlap", &Blocking::overlap)
        .def_rw("replay_steps", &Blocking::replay_steps)
        .def_rw("cache", &Blocking::cache);
    nb::class_<SweepCounters>(module, "SweepCounters")
        .def_ro("messages", &SweepCounters::messages)
        .def_ro("bytes", &SweepCounters::bytes)
        .def_ro("points", &SweepCounters::points)
        .def_ro("redundant", &SweepCounters::redundant);
    nb::class_<Trajectory>(module, "Trajectory")
        .def_prop_ro("bytes", &Trajectory::bytes)
        .def_prop_ro("steps", &Trajectory::steps)
        .def_prop_ro("interval", &Trajectory::interval)
        .def("append", &Trajectory::append, "state"_a.noconvert())
        .def("field", &field, "step"_a);
    nb::class_<Observations>(module, "Observations");
    nb::class_<AdjointResult>(module, "AdjointResult")
        .def_ro("gradient", &AdjointResult::gradient)
        .def_ro("misfit", &AdjointResult::misfit);
}

} // namespace

void bind_phasefield(nb::module_& module) {
    bind_data(module);
    module.def("schemes", &scheme_names);
    module.attr("max_replay_steps") = stencil::Replay::max_steps;

    using Released = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<Model>(module, "Model")
        .def("__init__", &construct, "comm"_a, "nx"_a, "ny"_a, "diffusion"_a, "reaction"_a,
             "periodic"_a, "blocking"_a)
        .def_prop_ro("own", &own)
        .def_prop_ro("bytes", &Model::bytes)
        .def_prop_ro("interval", &Model::interval)
        .def("counters", &Model::counters)
        .def("can_read", &Model::can_read, "trajectory"_a, "first"_a, "last"_a)
        .def("trajectory", &Model::trajectory, "steps"_a, nb::keep_alive<0, 1>(), Released())
        .def("checkpoints", &Model::checkpoints, "steps"_a, nb::keep_alive<0, 1>(), Released())
        .def("observe", &observe, "steps"_a, "values"_a.noconvert(), "weights"_a.noconvert().none(),
             "weight"_a, "huber"_a, nb::keep_alive<0, 1>(), nb::keep_alive<0, 3>(),
             nb::keep_alive<0, 4>())
        .def("forward", &Model::forward, "phi"_a.noconvert(), "m"_a, "first"_a, "last"_a,
             "trajectory"_a.none(), "observations"_a.none(), Released())
        .def("misfit", &Model::misfit, "phi"_a.noconvert(), "step"_a, "observations"_a, Released())
        .def("adjoint", &Model::adjoint, "lam"_a.noconvert(), "m"_a, "first"_a, "last"_a,
             "trajectory"_a, "observations"_a.none(), "kept"_a.none(), "with_misfit"_a, Released())
        .def("tangent", &Model::tangent, "dphi"_a.noconvert(), "dm"_a, "m"_a, "first"_a, "last"_a,
             "trajectory"_a, "kept"_a.none(), Released())
        .def("second_order", &Model::second_order, "mu"_a.noconvert(), "dm"_a, "m"_a, "first"_a,
             "last"_a, "trajectory"_a, "tangent"_a, "adjoint"_a.none(), "observations"_a.none(),
             Released());
}

} // namespace uzushio::bindings
