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
#include "bindings/mpi_handle.hpp"
#include "stencil/dot.hpp"
#include "stencil/scheme.hpp"
#include "stencil/tiling.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

/// (x begin, x end, y begin, y end).
using Corners = std::tuple<int, int, int, int>;
/// What each update computes.
using Updates = std::vector<std::vector<Corners>>;
/// What a phase receives (levels' parity, where), computes meanwhile, and computes then.
using PhaseOfPlan = std::tuple<std::vector<std::pair<int, Corners>>, Updates, Updates>;

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

std::vector<PhaseOfPlan> plan(std::uintptr_t comm, int width, int height, const std::string& name,
                              int steps, bool odd, bool overlap) {
    const stencil::Tiling tiling(communicator(comm), width, height, 1, 1, true, true);
    const stencil::Scheme& scheme = stencil::find_scheme(name);
    if (steps < 1 || steps > scheme.most_steps(tiling, 0))
        throw std::invalid_argument("plan: the tile is too thin for so many steps");
    std::vector<PhaseOfPlan> phases;
    for (const auto& phase :
         scheme.plan(tiling, {.steps = steps, .block_steps = steps, .overlap = overlap, .odd = odd})
             .phases) {
        auto& [received, meanwhile, after] = phases.emplace_back();
        for (const auto& stage : phase.exchange)
            for (const auto& message : stage.receives)
                for (const auto& patch : message.patches)
                    received.emplace_back(patch.buffer, corners(patch.rect));
        meanwhile = updates(phase.meanwhile);
        after = updates(phase.after);
    }
    return phases;
}

} // namespace

void bind_stencil(nb::module_& module) {
    module.def("plan", &plan, "comm"_a, "width"_a, "height"_a, "scheme"_a, "steps"_a,
               "odd"_a = false, "overlap"_a = false,
               "A block of a tile with neighbours on all sides, as data, for pictures of it: for "
               "each phase what is received, what is computed meanwhile, and what is computed "
               "then. `comm` has one rank.");
    using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    module.def(
        "dot",
        [](const Values& a, const Values& b) {
            if (a.size() != b.size())
                throw std::invalid_argument("dot: the arrays differ in size");
            const nb::gil_scoped_release unlock;
            const auto sum = stencil::dot(a.data(), b.data(), a.size());
            return std::pair(sum.high, sum.low);
        },
        "a"_a.noconvert(), "b"_a.noconvert(),
        "The dot product of this rank's arrays, and what it lacks.");
    using Tables = nb::ndarray<const double, nb::shape<-1, -1, 2>, nb::c_contig, nb::device::cpu>;
    using Total = nb::ndarray<double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
    module.def(
        "add_tables",
        [](const Tables& tables, const Total& total) {
            if (tables.shape(1) != total.shape(0))
                throw std::invalid_argument("add_tables: the shapes do not match");
            for (std::size_t i = 0; i < total.shape(0); ++i) {
                stencil::CompensatedSum sum;
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
        "Add what all ranks have of each of several numbers, all in doubled precision.");
}

} // namespace uzushio::bindings
