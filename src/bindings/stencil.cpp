#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <stdexcept>
#include <utility>

#include "bindings/bindings.hpp"
#include "stencil/dot.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

void bind_stencil(nb::module_& module) {
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
}

} // namespace uzushio::bindings
