#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

#include "bindings/bindings.hpp"
#include "bindings/mpi_handle.hpp"
#include "solvers/channel/estimate.hpp"
#include "solvers/channel/physical_output.hpp"
#include "solvers/channel/roofline.hpp"
#include "solvers/channel/sampler.hpp"
#include "solvers/channel/solver.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using channel::Parameters;
using channel::PhysicalOutput;
using channel::Solver;
using Profile = nb::ndarray<const linalg::Complex, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array = nb::ndarray<nb::numpy, double>;

std::span<const linalg::Complex> span(const Profile& profile) {
    return {profile.data(), profile.size()};
}

channel::Planes spectral_field(const Solver& solver, const std::string& name) {
    if (name == "u")
        return solver.velocity().u;
    if (name == "v")
        return solver.velocity().v;
    if (name == "w")
        return solver.velocity().w;
    if (name == "p")
        return solver.pressure();
    throw nb::key_error(("no field is called '" + name + "'").c_str());
}

/// A copy-free view [plane][re, im][mode in y][mode in x] of this rank's part of a field.
Array spectral_view(Solver& solver, const std::string& name) {
    const auto field = spectral_field(solver, name);
    const auto& transform = solver.transform();
    const auto waves = static_cast<std::size_t>(transform.waves().size());
    const auto columns = static_cast<std::size_t>(transform.modes().columns_y());
    const std::size_t shape[] = {static_cast<std::size_t>(field.planes), 2, columns, waves};
    const std::int64_t strides[] = {field.stride, field.modes, static_cast<std::int64_t>(waves), 1};
    return Array(field.base, 4, shape, nb::find(&solver), strides);
}

Array owned(std::vector<double>&& values, std::vector<std::size_t> shape) {
    auto* held = new std::vector<double>(std::move(values));
    const nb::capsule owner(held,
                            [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return Array(held->data(), shape.size(), shape.data(), owner);
}

using Out = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

/// Fill [plane][row][x] of this rank with a field in physical space.
void write_physical(PhysicalOutput& physical, Solver& solver, const std::string& name,
                    const Out& out) {
    const auto planes = static_cast<std::size_t>(solver.planes().size());
    const auto rows = static_cast<std::size_t>(physical.rows().size());
    const auto nx = static_cast<std::size_t>(solver.parameters().nx);
    if (out.shape(0) != planes || out.shape(1) != rows || out.shape(2) != nx)
        throw nb::value_error("the array has not the shape of this rank's part of a field");
    const std::span<double> to(out.data(), out.size());
    if (name == "p") {
        const nb::gil_scoped_release unlock;
        physical.write_pressure(to);
    } else {
        const auto field = spectral_field(solver, name);
        const nb::gil_scoped_release unlock;
        physical.write(field, to);
    }
}

nb::dict samples(Solver& solver, const std::vector<int>& cells) {
    auto taken = channel::sample(solver, cells);
    nb::dict result;
    for (auto& profile : taken.profiles) {
        const std::size_t n = profile.values.size();
        result[nb::str(profile.name.data(), profile.name.size())] =
            nb::make_tuple(profile.at_faces, owned(std::move(profile.values), {n}));
    }
    const auto& modes = solver.transform().modes();
    const auto put = [&](const char* name, std::vector<double>& values, int length) {
        result[name] =
            owned(std::move(values), {cells.size(), 3, static_cast<std::size_t>(length)});
    };
    put("spectra_x", taken.spectra_x, modes.kx);
    put("spectra_y", taken.spectra_y, modes.ky);
    return result;
}

nb::dict traffic(Solver& solver) {
    nb::dict result;
    for (std::size_t kind = 0; kind < parallel::exchange_names.size(); ++kind) {
        const auto& sent = solver.traffic()[static_cast<parallel::Exchange>(kind)];
        const auto name = parallel::exchange_names[kind];
        result[nb::str(name.data(), name.size())] =
            nb::make_tuple(sent.exchanges, sent.messages, sent.bytes);
    }
    return result;
}

std::pair<int, int> pair(parallel::Range range) { return {range.begin, range.end}; }

} // namespace

void bind_channel(nb::module_& module) {
    nb::enum_<channel::Forcing>(module, "Forcing")
        .value("pressure_gradient", channel::Forcing::pressure_gradient)
        .value("flow_rate", channel::Forcing::flow_rate);
    nb::enum_<channel::Dealiasing>(module, "Dealiasing")
        .value("three_halves", channel::Dealiasing::three_halves)
        .value("two_thirds", channel::Dealiasing::two_thirds)
        .value("none", channel::Dealiasing::none);

    nb::enum_<channel::SentPrecision>(module, "SentPrecision")
        .value("double", channel::SentPrecision::full)
        .value("single", channel::SentPrecision::single);

    nb::enum_<channel::Transposes>(module, "Transposes")
        .value("messages", channel::Transposes::messages)
        .value("overlapped", channel::Transposes::overlapped)
        .value("shared_memory", channel::Transposes::shared_memory);

    nb::class_<Parameters>(module, "Parameters")
        .def(nb::init<>())
        .def_rw("nx", &Parameters::nx)
        .def_rw("ny", &Parameters::ny)
        .def_rw("lx", &Parameters::lx)
        .def_rw("ly", &Parameters::ly)
        .def_rw("faces", &Parameters::faces)
        .def_rw("viscosity", &Parameters::viscosity)
        .def_rw("forcing", &Parameters::forcing)
        .def_rw("drive", &Parameters::drive)
        .def_rw("dealiasing", &Parameters::dealiasing)
        .def_rw("scheme", &Parameters::scheme)
        .def_rw("transpose_precision", &Parameters::transpose_precision)
        .def_rw("transposes", &Parameters::transposes)
        .def_rw("py", &Parameters::py)
        .def_rw("pz", &Parameters::pz)
        .def_rw("threads", &Parameters::threads);

    nb::class_<channel::Estimate>(module, "Estimate")
        .def_ro("bytes", &channel::Estimate::bytes)
        .def_prop_ro("traffic", [](const channel::Estimate& estimate) {
            nb::dict result;
            for (const auto& [name, sent] : estimate.traffic)
                result[name.c_str()] = nb::make_tuple(sent.exchanges, sent.messages, sent.bytes);
            return result;
        });
    module.def("estimate", &channel::estimate, "parameters"_a,
               "Memory of the busiest rank, and what it sends in a step; local.");

    nb::class_<Solver>(module, "Solver")
        .def(
            "__init__",
            [](Solver* self, const Parameters& parameters, std::uintptr_t comm,
               parallel::SectionMonitor& sections) {
                new (self) Solver(parameters, communicator(comm), sections);
            },
            "parameters"_a, "comm"_a, "sections"_a, nb::keep_alive<1, 4>())
        .def("step", &Solver::step, "cfl"_a, "max_dt"_a,
             "left"_a = std::numeric_limits<double>::infinity(),
             nb::call_guard<nb::gil_scoped_release>())
        .def(
            "add_mode",
            [](Solver& solver, int kx, int ky, Profile u, Profile v, Profile w) {
                solver.add_mode(kx, ky, span(u), span(v), span(w));
            },
            "kx"_a, "ky"_a, "u"_a, "v"_a, "w"_a)
        .def("project", &Solver::project, nb::call_guard<nb::gil_scoped_release>())
        .def("exchange_ghosts", &Solver::exchange_ghosts, nb::call_guard<nb::gil_scoped_release>())
        .def("use_wisdom", &Solver::use_wisdom, "wisdom"_a)
        .def("set_drive", &Solver::set_drive, "drive"_a)
        .def("bulk_velocity", &Solver::bulk_velocity)
        .def("wall_shear", &Solver::wall_shear)
        .def("kinetic_energy", &Solver::kinetic_energy)
        .def("divergence", &Solver::divergence)
        .def("convective_power", &Solver::convective_power)
        .def("spectral", &spectral_view, "name"_a)
        .def("samples", &samples, "cells"_a)
        .def("traffic", &traffic)
        .def("reset_traffic",
             [](Solver& solver) {
                 solver.traffic().reset();
                 solver.transform().flight_time().reset();
             })
        .def_prop_ro("transpose_seconds",
                     [](Solver& solver) {
                         const auto& time = solver.transform().flight_time();
                         return std::pair(time.hidden(), time.exposed());
                     })
        .def("measure_rate", &Solver::measure_rate)
        .def_prop_ro("fastest_rate", &Solver::fastest_rate)
        .def_prop_ro("pressure_gradient", &Solver::pressure_gradient)
        .def_prop_ro("bytes", &Solver::bytes)
        .def_prop_ro("threads", [](const Solver& s) { return s.parameters().threads; })
        .def_prop_ro("planes", [](Solver& s) { return pair(s.planes()); })
        .def_prop_ro("waves", [](Solver& s) { return pair(s.transform().waves()); })
        .def_prop_ro("modes_x", [](Solver& s) { return s.transform().modes().kx; })
        .def_prop_ro("modes_y", [](Solver& s) { return s.transform().modes().ky; });

    nb::class_<PhysicalOutput>(module, "PhysicalOutput")
        .def(nb::init<Solver&>(), "solver"_a, nb::keep_alive<1, 2>())
        .def("write", &write_physical, "solver"_a, "name"_a, "out"_a)
        .def_prop_ro("rows", [](PhysicalOutput& p) { return pair(p.rows()); });

    module.def("fft_seconds", &channel::fft_seconds, "solver"_a, "repeats"_a,
               "Seconds of one step's transforms through FFTW alone.");
    module.def("min_bytes", &channel::min_bytes, "solver"_a,
               "Minimum of bytes that a step of this rank moves between memory and processor.");
    module.def("import_wisdom", &linalg::import_wisdom, "wisdom"_a,
               "Plan with these measurements only from now on; false if they cannot be parsed.");
    module.def("wisdom", &linalg::export_wisdom, "Measurements of the FFT planner, as text.");
}

} // namespace uzushio::bindings
