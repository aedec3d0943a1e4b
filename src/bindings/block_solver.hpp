#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bindings/mpi_handle.hpp"
#include "domain/block_solver.hpp"

namespace uzushio::bindings {

/// Return indices along i, j, k as Python has them: k, j, i.
inline nanobind::tuple numpy_order(const domain::Index<3>& index) {
    return nanobind::make_tuple(index[2], index[1], index[0]);
}

/// NumPy array on the memory of a view's box: (component, k, j, i); strides may be negative.
template <class T>
nanobind::ndarray<nanobind::numpy, T>
numpy_view(const domain::View<T>& view, const domain::Box<3>& box, nanobind::handle owner) {
    const domain::Index<3> extents = box.extents();
    const std::size_t shape[] = {
        static_cast<std::size_t>(view.components()), static_cast<std::size_t>(extents[2]),
        static_cast<std::size_t>(extents[1]), static_cast<std::size_t>(extents[0])};
    const auto& along = view.strides();
    const std::int64_t strides[] = {view.component_stride(), along[2], along[1], along[0]};
    return {view.data() + view.offset(box.lower), 4, shape, owner, strides};
}

/// Bind a subclass of `domain::BlockSolver` with all that
/// `uzushio.solvers.block_solver.BlockSolver` uses: the only call that an extension module with a
/// solver needs besides its constructor. Indices are in the order k, j, i in Python, as the axes of
/// arrays (component, k, j, i).
template <class Solver>
nanobind::class_<Solver> bind_block_solver(nanobind::module_& module, const char* class_name) {
    namespace nb = nanobind;
    using namespace nb::literals;
    using unlocked = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<Solver> bound(module, class_name);
    bound.attr("uzushio_version") = UZUSHIO_VERSION;
    bound
        .def(
            "fields",
            [](const Solver& solver) {
                nb::list all;
                for (const domain::FieldDeclaration& field : solver.declaration().fields) {
                    const auto centring = static_cast<std::size_t>(field.spec.centring);
                    constexpr const char* names[] = {"cell", "face", "vertex"};
                    nb::dict entry;
                    entry["name"] = field.spec.name;
                    entry["components"] = field.spec.components;
                    entry["centring"] = names[centring];
                    constexpr const char* kinds[] = {"evolved", "derived", "projected", "output"};
                    entry["kind"] = kinds[static_cast<std::size_t>(field.kind)];
                    entry["unit"] = field.unit;
                    entry["description"] = field.description;
                    all.append(entry);
                }
                return all;
            },
            "Return the declared fields.")
        .def(
            "zones",
            [](const Solver& solver) {
                nb::list all;
                for (const domain::Zone& zone : solver.declaration().mesh->zones()) {
                    nb::dict entry;
                    entry["name"] = zone.name;
                    entry["cells"] = numpy_order(zone.cells);
                    entry["rectilinear"] = zone.coordinates.is_rectilinear();
                    all.append(entry);
                }
                return all;
            },
            "Return the zones of the mesh, with their cells along k, j, i.")
        .def(
            "use_scheme",
            [](Solver& solver, const std::string& name) {
                solver.use_scheme(domain::time_scheme(name));
            },
            "name"_a, "Integrate in time by another scheme than the declared one.")
        .def_prop_ro("dimension",
                     [](const Solver& solver) { return solver.declaration().mesh->dimension(); })
        .def(
            "write_vertices",
            [](const Solver& solver, int zone, std::array<std::int64_t, 3> lower,
               const nb::ndarray<double, nb::shape<-1, -1, -1, 3>, nb::c_contig, nb::device::cpu>&
                   out) {
                const auto& mesh = *solver.declaration().mesh;
                const domain::Coordinates& coordinates =
                    mesh.zones().at(static_cast<std::size_t>(zone)).coordinates;
                double* at = out.data();
                using NumpyBox = domain::Box<3, domain::AxisOrder::zyx>;
                const NumpyBox box = NumpyBox::at(lower, {static_cast<std::int64_t>(out.shape(0)),
                                                          static_cast<std::int64_t>(out.shape(1)),
                                                          static_cast<std::int64_t>(out.shape(2))});
                domain::for_indices(with_reversed_axes(box), [&](const domain::Index<3>& index) {
                    for (const double x : coordinates.vertex(index))
                        *at++ = x;
                });
            },
            "zone"_a, "lower"_a, "out"_a.noconvert(),
            "Write x, y and z of the vertices from `lower` (k, j, i) on to `out`, (k, j, i, 3).")
        .def(
            "estimate",
            [](const Solver& solver, int ranks) {
                const domain::SolverEstimate estimate = solver.estimate(ranks);
                nb::dict result;
                result["blocks"] = estimate.blocks;
                result["imbalance"] = estimate.imbalance;
                result["cells"] = estimate.cells;
                result["bytes"] = estimate.bytes;
                result["halo_messages"] = estimate.halo_messages;
                result["halo_bytes"] = estimate.halo_bytes;
                return result;
            },
            "ranks"_a, "Return what a run on so many ranks needs; allocates no field.")
        .def(
            "set_up",
            [](Solver& solver, std::uintptr_t comm, nb::handle sections) {
                std::uintptr_t address = 0;
                if (!sections.is_none()) {
                    // By its address: another version of nanobind may have bound the type.
                    const nb::gil_scoped_acquire locked;
                    address = nb::cast<std::uintptr_t>(sections.attr("address"));
                }
                // NOLINTNEXTLINE(performance-no-int-to-ptr)
                auto* monitor = reinterpret_cast<parallel::SectionMonitor*>(address);
                solver.set_up(communicator(comm), monitor);
            },
            "comm"_a, "sections"_a = nb::none(), unlocked(), nb::keep_alive<1, 3>(),
            "Decompose, allocate and prepare (collective). `sections`: SectionMonitor.core; None: "
            "the solver's own monitor.")
        // The base's methods: an author's method of the same name does not hide them.
        .def("step", &domain::BlockSolver::step, "max_dt"_a, "fraction"_a = 1.0,
             "left"_a = std::numeric_limits<double>::infinity(), unlocked(),
             "Advance by `fraction` times the stable step, at most by `max_dt`, or as `next_step` "
             "if the end of the run is `left` away; return the step (collective).")
        .def("begin", &domain::BlockSolver::begin, unlocked(),
             "Begin at time 0 with the initial fields (collective).")
        .def("start", &domain::BlockSolver::start, "time"_a, unlocked(),
             "Begin with evolved fields that were written from outside (collective).")
        .def("resume", &domain::BlockSolver::resume, "time"_a, unlocked(),
             "Continue with evolved and projected fields of a checkpoint (collective).")
        .def("update_derived", &domain::BlockSolver::update_derived, "output"_a = true, unlocked(),
             "Compute the derived fields, and the outputs, from the evolved ones (collective).")
        .def_prop_ro("time", &domain::BlockSolver::time)
        .def_prop_ro("stable_dt",
                     [](const Solver& solver) { return solver.domain::BlockSolver::stable_dt(); })
        .def_prop_ro("finite", &domain::BlockSolver::finite)
        .def(
            "blocks",
            [](const Solver& solver) {
                nb::list all;
                const domain::Decomposition& decomposition = solver.decomposition();
                for (const int id : decomposition.blocks_of(solver.rank())) {
                    const domain::Block& block = decomposition.block(id);
                    all.append(nb::make_tuple(block.zone, numpy_order(block.cells.lower),
                                              numpy_order(block.cells.extents())));
                }
                return all;
            },
            "Return zone, first index and number of the cells of this rank's blocks.")
        .def(
            "values",
            [](Solver& solver, std::string_view name, std::size_t block, std::size_t array) {
                domain::Field<double>& field = solver.field(name);
                if (block >= field.blocks() || array >= field.arrays())
                    throw std::out_of_range("values: there is no such block or array");
                return numpy_view(field.view(block, array), field.owned(block, array),
                                  nb::find(&solver));
            },
            "field"_a, "block"_a, "array"_a = 0,
            "Return the owned values of a field on a block of this rank, in the solver's memory.")
        .def(
            "halo_traffic",
            [](const Solver& solver) {
                const parallel::Sent& sent = solver.traffic()[parallel::Exchange::halo];
                return nb::make_tuple(sent.messages, sent.bytes);
            },
            "Return the messages and bytes that this rank has sent in halo exchanges.");
    return bound;
}

} // namespace uzushio::bindings
