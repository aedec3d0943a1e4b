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
#include "pipeline/cell_search.hpp"
#include "pipeline/velocity_gradient.hpp"
#include "pipeline/vertex_values.hpp"

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

/// x, y and z of vertices, (z, y, x, 3), contiguous along x.
using Corners = nb::ndarray<const double, nb::shape<-1, -1, -1, 3>, nb::device::cpu>;
using Positions = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

FieldView<const double> view_of(const Corners& corners) {
    if (corners.stride(3) != 1 || corners.stride(2) != 3)
        throw std::invalid_argument("pipeline: vertices of a row are contiguous");
    return view<const double>(corners);
}

template <class T>
void interpolate_to_vertices(const In<T>& cells, const Corners& corners, Offset first,
                             const Out<T>& out, int threads) {
    const auto from = view<const T>(cells);
    const auto to = view<T>(out);
    const auto vertices = view_of(corners);
    for (std::size_t axis = 0; axis < 3; ++axis)
        if (vertices.extents[axis] != from.extents[axis] + 1 || first[axis] < 0 ||
            first[axis] + to.extents[axis] > from.extents[axis] + 1)
            throw std::invalid_argument("pipeline: the vertices are not those of the cells");
    const nb::gil_scoped_release unlock;
    pipeline::interpolate_to_vertices<T>(from, vertices, first, to, threads);
}

/// Write the cells of positions, z, y and x or -1, and the places in them.
void find_cells(const Corners& corners, Offset first, Offset cells, const Positions& positions,
                const nb::ndarray<std::int64_t, nb::shape<-1, 3>, nb::c_contig>& index,
                const nb::ndarray<double, nb::shape<-1, 3>, nb::c_contig>& share, int threads) {
    const std::size_t count = positions.shape(0);
    const auto vertices = view_of(corners);
    for (std::size_t axis = 0; axis < 3; ++axis)
        if (first[axis] < 0 || first[axis] + cells[axis] >= vertices.extents[axis])
            throw std::invalid_argument("pipeline: cells have no vertices");
    if (index.shape(0) != count || share.shape(0) != count)
        throw std::invalid_argument("pipeline: results need one row for each position");
    const nb::gil_scoped_release unlock;
    std::vector<pipeline::Cell> found(count);
    static_assert(sizeof(std::array<double, 3>) == 3 * sizeof(double));
    pipeline::find_cells(vertices, first, cells,
                         {reinterpret_cast<const std::array<double, 3>*>(positions.data()), count},
                         found, threads);
    for (std::size_t n = 0; n < count; ++n)
        for (std::size_t axis = 0; axis < 3; ++axis) {
            index(n, axis) = found[n].index[axis];
            share(n, axis) = found[n].share[axis];
        }
}

template <class T> void bind(nb::module_& module) {
    // Without conversion: it would copy the array.
    module.def("apply_stencil", &apply_stencil<T>, "values"_a.noconvert(), "axis"_a, "stencil"_a,
               "offset"_a, "out"_a.noconvert(), "threads"_a = 0);
    module.def("differentiate", &differentiate<T>, "quantity"_a, "fields"_a.noconvert(),
               "derivatives"_a, "offset"_a, "out"_a.noconvert(), "mesh"_a.noconvert(),
               "threads"_a = 0);
    module.def("interpolate_to_vertices", &interpolate_to_vertices<T>, "cells"_a.noconvert(),
               "corners"_a.noconvert(), "first"_a, "out"_a.noconvert(), "threads"_a = 1);
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
    module.def("find_cells", &find_cells, "corners"_a.noconvert(), "first"_a, "cells"_a,
               "positions"_a.noconvert(), "index"_a.noconvert(), "share"_a.noconvert(),
               "threads"_a = 1);
    bind<float>(module);
    bind<double>(module);
}

} // namespace uzushio::bindings
