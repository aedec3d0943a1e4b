#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <omp.h>

#include <cstdint>
#include <filesystem>

#include "bindings/bindings.hpp"
#include "bindings/mpi_handle.hpp"
#include "parallel/affinity.hpp"
#include "parallel/available_memory.hpp"
#include "parallel/mpi_library.hpp"
#include "parallel/roofline.hpp"
#include "parallel/section_monitor.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using parallel::NodeTopology;
using parallel::SectionMonitor;

nb::list sections(const SectionMonitor& monitor) {
    nb::list all;
    for (const SectionMonitor::Totals& totals : monitor.sections())
        all.append(nb::make_tuple(totals.name, totals.parent, totals.calls, totals.seconds,
                                  totals.work.flops, totals.work.bytes));
    return all;
}

nb::list events(const SectionMonitor& monitor) {
    nb::list all;
    for (const SectionMonitor::Event& event : monitor.events())
        all.append(nb::make_tuple(event.section, event.start, event.duration));
    return all;
}

nb::list cores(const NodeTopology& topology) {
    nb::list all;
    for (const NodeTopology::Core& core : topology.cores())
        all.append(nb::make_tuple(core.processors, core.domain));
    return all;
}

void bind_affinity(nb::module_& module) {
    nb::class_<NodeTopology>(module, "NodeTopology")
        .def_static("of_this_node", &NodeTopology::of_this_node)
        .def_static("synthetic", &NodeTopology::synthetic, "description"_a)
        .def("cores", &cores, "Processors and NUMA domain of each core.");
    module.def("mpi_library_version", &parallel::mpi_library_version);
    module.def("mpi_mismatch", &parallel::mpi_mismatch, "library"_a);
    module.def("place_ranks", &parallel::place_ranks, "topology"_a, "policy"_a, "available"_a,
               "ranks"_a, "threads"_a, "Processors of each thread of each rank of a node.");
    module.def("bind_rank", &parallel::bind_rank, "topology"_a, "place"_a,
               "Bind this rank, and return the processors of each thread.");
    module.def(
        "available_memory",
        [](const std::filesystem::path& root) {
            const auto [bytes, limit] = parallel::available_memory(root);
            return nb::make_tuple(bytes, limit);
        },
        "root"_a, "Bytes that can still be allocated on this node, and the limit that applies.");
    module.def("set_threads", &omp_set_num_threads, "threads"_a,
               "Set the number of OpenMP threads of solvers that are prepared later.");
}

} // namespace

void bind_parallel(nb::module_& module) {
    bind_affinity(module);
    nb::class_<SectionMonitor>(module, "SectionMonitor")
        .def(nb::init<>())
        .def_prop_ro("address",
                     [](const SectionMonitor& monitor) {
                         return reinterpret_cast<std::uintptr_t>(&monitor);
                     })
        .def("begin", &SectionMonitor::begin, "name"_a)
        .def("end", &SectionMonitor::end, "depth"_a)
        .def("add_section", &SectionMonitor::add_section, "name"_a, "seconds"_a)
        .def("mark", &SectionMonitor::mark)
        .def(
            "add_work",
            [](SectionMonitor& monitor, double flops, double bytes) {
                monitor.add_work({flops, bytes});
            },
            "flops"_a, "bytes"_a)
        .def("sections", &sections,
             "Name, index of the section around it (-1: none), calls, seconds, flops and bytes.")
        .def_prop_ro("elapsed", &SectionMonitor::elapsed)
        .def("reset", &SectionMonitor::reset, "earlier"_a = 0.0)
        .def("set_active", &SectionMonitor::set_active, "active"_a)
        .def("start_trace", &SectionMonitor::start_trace, "max_events"_a)
        .def("events", &events, "Index of the section, start and duration in nanoseconds.")
        .def_prop_ro("dropped_events", &SectionMonitor::dropped_events);

    module.def(
        "triad_rate",
        [](std::uintptr_t comm, std::size_t doubles, int repeats) {
            return parallel::triad_rate(communicator(comm), doubles, repeats);
        },
        "comm"_a, "doubles"_a, "repeats"_a, "Bytes a second of STREAM's triad on all ranks.");
    module.def(
        "flop_rate",
        [](std::uintptr_t comm, int repeats) {
            return parallel::flop_rate(communicator(comm), repeats);
        },
        "comm"_a, "repeats"_a, "Multiplications and additions a second on all ranks.");
}

} // namespace uzushio::bindings
