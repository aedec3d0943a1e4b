#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "bindings/bindings.hpp"
#include "pipeline/axis_stencil.hpp"
#include "pipeline/velocity_gradient.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using pipeline::AxisStencil;
using pipeline::FieldView;
using pipeline::Quantity;
using Offset = std::array<std::ptrdiff_t, 3>;
using Indices = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
/// First index, and weights (width, size).
using Table = std::tuple<Indices, Weights>;
template <class T> using In = nb::ndarray<const T, nb::ndim<3>, nb::device::cpu>;
template <class T> using Out = nb::ndarray<T, nb::ndim<3>, nb::device::cpu>;

template <class T, class Array> FieldView<T> view(const Array& array) {
    FieldView<T> result{array.data(), {}, {}};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        result.extents[axis] = static_cast<std::ptrdiff_t>(array.shape(axis));
        result.strides[axis] = array.stride(axis);
    }
    return result;
}

template <class T, class Arrays> std::vector<FieldView<T>> views(const Arrays& arrays) {
    std::vector<FieldView<T>> result;
    for (const auto& array : arrays)
        result.push_back(view<T>(array));
    return result;
}

AxisStencil stencil(const Table& table) {
    static_assert(sizeof(std::ptrdiff_t) == sizeof(std::int64_t));
    const auto& [first, weights] = table;
    if (weights.shape(1) != first.shape(0))
        throw std::invalid_argument("pipeline: a stencil needs its width times its size weights");
    return {{reinterpret_cast<const std::ptrdiff_t*>(first.data()), first.shape(0)},
            {weights.data(), weights.size()},
            static_cast<std::ptrdiff_t>(weights.shape(0))};
}

std::array<AxisStencil, 3> stencils(const std::array<Table, 3>& tables) {
    return {stencil(tables[0]), stencil(tables[1]), stencil(tables[2])};
}

template <class T>
void apply_stencil(const In<T>& in, int axis, const Table& table, Offset offset, const Out<T>& out,
                   int threads) {
    if (axis < 0 || axis > 2)
        throw std::invalid_argument("pipeline: the axes are 0, 1 and 2");
    const auto from = view<const T>(in);
    const auto to = view<T>(out);
    const nb::gil_scoped_release unlock;
    pipeline::apply_stencil<T>(from, axis, stencil(table), offset, to, threads);
}

template <class T>
void differentiate(Quantity quantity, const std::vector<In<T>>& fields,
                   const std::array<Table, 3>& derivatives, Offset offset,
                   const std::vector<Out<T>>& out, const std::vector<In<T>>& mesh, int threads) {
    const auto from = views<const T>(fields);
    const auto results = views<T>(out);
    const auto coordinates = views<const T>(mesh);
    const nb::gil_scoped_release unlock;
    pipeline::differentiate<T>(quantity, from, stencils(derivatives), offset, results, coordinates,
                               threads);
}

template <class T> void bind(nb::module_& module) {
    // Without conversion: it would copy the array.
    module.def("apply_stencil", &apply_stencil<T>, "values"_a.noconvert(), "axis"_a, "stencil"_a,
               "offset"_a, "out"_a.noconvert(), "threads"_a = 0);
    module.def("differentiate", &differentiate<T>, "quantity"_a, "fields"_a.noconvert(),
               "derivatives"_a, "offset"_a, "out"_a.noconvert(), "mesh"_a.noconvert(),
               "threads"_a = 0);
}

} // namespace

void bind_pipeline(nb::module_& module) {
    nb::enum_<Quantity>(module, "Quantity")
        .value("gradient", Quantity::gradient)
        .value("divergence", Quantity::divergence)
        .value("vorticity", Quantity::vorticity)
        .value("enstrophy", Quantity::enstrophy)
        .value("strain_rate", Quantity::strain_rate)
        .value("q_criterion", Quantity::q_criterion)
        .value("lambda2", Quantity::lambda2);
    bind<float>(module);
    bind<double>(module);
}

} // namespace uzushio::bindings
