#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/double_double.hpp"
#include "bindings/mpi_handle.hpp"
#include "stencil/blocking_scheme.hpp"
#include "stencil/dot.hpp"
#include "stencil/tiling.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

/// (x begin, x end, y begin, y end).
using Corners = std::tuple<int, int, int, int>;
/// Rectangles that each update computes.
using Updates = std::vector<std::vector<Corners>>;
/// Received rectangles (buffer, corners), region computed during the exchange, region after it.
using PlannedPhase = std::tuple<std::vector<std::pair<int, Corners>>, Updates, Updates>;

Corners corners(const stencil::Rect& rect) {
    return {rect.x.begin, rect.x.end, rect.y.begin, rect.y.end};
}

Updates updates(const stencil::Region& region) {
    Updates all;
    for (const auto& area : region.updates) {
        auto& update = all.emplace_back();
        for (const auto& rect : area)
            update.push_back(corners(rect));
    }
    return all;
}

std::vector<PlannedPhase> plan(std::uintptr_t comm, int width, int height, const std::string& name,
                               int steps, bool odd, bool overlap) {
    const stencil::Tiling tiling(communicator(comm), width, height, 1, 1, true, true);
    const stencil::BlockingScheme& scheme = stencil::find_scheme(name);
    if (steps < 1 || steps > scheme.max_steps(tiling, 0))
        throw std::invalid_argument("plan: the tile is too small for so many steps");
    std::vector<PlannedPhase> phases;
    for (const auto& phase :
         scheme.plan(tiling, {.steps = steps, .block_steps = steps, .overlap = overlap, .odd = odd})
             .phases) {
        auto& [received, meanwhile, after] = phases.emplace_back();
        for (const auto& stage : phase.exchange)
            for (const auto& message : stage.receives)
                for (const auto& rect : message.rects)
                    received.emplace_back(rect.buffer, corners(rect.rect));
        meanwhile = updates(phase.meanwhile);
        after = updates(phase.after);
    }
    return phases;
}

} // namespace

void bind_stencil(nb::module_& module) {
    module.def("plan", &plan, "comm"_a, "width"_a, "height"_a, "scheme"_a, "steps"_a,
               "odd"_a = false, "overlap"_a = false,
               "Return the plan of a block of a tile with neighbours on all sides: for each phase "
               "the rectangles received, the region computed during the exchange and the region "
               "computed after it. `comm` has one rank.");
    using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    module.def(
        "dot",
        [](const Values& a, const Values& b) {
            if (a.size() != b.size())
                throw std::invalid_argument("dot: the arrays differ in size");
            const nb::gil_scoped_release unlock;
            return stencil::dot(a.data(), b.data(), a.size());
        },
        "a"_a.noconvert(), "b"_a.noconvert(),
        "Return the dot product of this rank's arrays in double-double precision. Not collective.");
    using Tables = nb::ndarray<const double, nb::shape<-1, -1, 2>, nb::c_contig, nb::device::cpu>;
    using Total = nb::ndarray<double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
    module.def(
        "sum_over_ranks",
        [](const Tables& tables, const Total& total) {
            if (tables.shape(1) != total.shape(0))
                throw std::invalid_argument("sum_over_ranks: the shapes do not match");
            for (std::size_t i = 0; i < total.shape(0); ++i) {
                parallel::CompensatedSum sum;
                for (std::size_t rank = 0; rank < tables.shape(0); ++rank) {
                    sum.add(tables(rank, i, 0));
                    sum.add(tables(rank, i, 1));
                }
                const auto [high, low] = sum.folded();
                total(i, 0) = high;
                total(i, 1) = low;
            }
        },
        "tables"_a.noconvert(), "total"_a.noconvert(),
        "Sum the ranks' double-double values (rank, value, 2) of each of several sums.");
}

} // namespace uzushio::bindings
