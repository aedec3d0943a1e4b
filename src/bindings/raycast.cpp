#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <tuple>

#include "bindings/bindings.hpp"
#include "raycast/cast.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using raycast::Block;
using raycast::Camera;
using raycast::ColorTable;
using raycast::HalfSpace;
using raycast::Index;
using raycast::Isosurface;
using raycast::Lighting;
using raycast::PointValues;
using raycast::Rgba;
using raycast::Scene;
using raycast::Slice;
using raycast::TransferTable;
using raycast::Vector3;
using raycast::Volume;
using Colors = std::shared_ptr<const ColorTable>;
using Transfer = std::shared_ptr<const TransferTable>;
using MaybeLighting = std::optional<Lighting>;
using Values = nb::ndarray<nb::ro, nb::ndim<3>, nb::device::cpu>;
using Table = nb::ndarray<const float, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using Points = nb::ndarray<const double, nb::shape<-1, 5>, nb::c_contig, nb::device::cpu>;
using Coordinates = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Image = nb::ndarray<nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Depth = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Python's arrays are indexed z, y, x.
Index reversed(const Index& zyx) { return {zyx[2], zyx[1], zyx[0]}; }

PointValues view(const Values& array) {
    PointValues field;
    field.data = array.data();
    field.is_double = array.dtype() == nb::dtype<double>();
    if (!field.is_double && array.dtype() != nb::dtype<float>())
        throw std::invalid_argument("fields are of type float32 or float64");
    for (std::size_t a = 0; a < 3; ++a)
        field.strides[a] = array.stride(2 - a);
    field.contiguous_x = field.strides[0] == 1;
    return field;
}

std::shared_ptr<Block> make_block(const Index& start, const Index& points, const Index& first_cell,
                                  const Index& cells, const std::vector<Values>& arrays) {
    std::vector<PointValues> fields;
    for (const auto& array : arrays)
        fields.push_back(view(array));
    return std::make_shared<Block>(reversed(start), reversed(points), reversed(first_cell),
                                   reversed(cells), std::move(fields));
}

std::shared_ptr<ColorTable> make_colors(const Table& rows, double low, double high,
                                        const Rgba& below, const Rgba& above, const Rgba& nan,
                                        bool logarithmic) {
    std::vector<Rgba> colors(rows.shape(0));
    std::copy_n(rows.data(), 4 * colors.size(), colors.empty() ? nullptr : colors[0].data());
    return std::make_shared<ColorTable>(colors, low, high, below, above, nan, logarithmic);
}

std::shared_ptr<TransferTable> make_transfer(const Points& rows, const Rgba& nan,
                                             bool logarithmic) {
    std::vector<raycast::TransferPoint> points;
    for (std::size_t i = 0; i < rows.shape(0); ++i) {
        raycast::TransferPoint point{rows(i, 0), {}};
        for (std::size_t c = 0; c < 4; ++c)
            point.color[c] = static_cast<float>(rows(i, c + 1));
        points.push_back(point);
    }
    return std::make_shared<TransferTable>(points, nan, logarithmic);
}

std::unique_ptr<Scene> make_scene(std::vector<std::string> fields,
                                  std::vector<raycast::Layer> layers, const Coordinates& z,
                                  const Coordinates& y, const Coordinates& x, double step,
                                  double step_in_cells, std::vector<HalfSpace> half_spaces,
                                  const std::optional<Rgba>& bounding_box, double line_width) {
    auto scene = std::make_unique<Scene>();
    scene->fields = std::move(fields);
    scene->layers = std::move(layers);
    for (const auto* axis : {&x, &y, &z})
        scene->axes.emplace_back(std::span(axis->data(), axis->size()));
    scene->step = step;
    scene->step_in_cells = step_in_cells;
    scene->half_spaces = std::move(half_spaces);
    scene->bounding_box = bounding_box;
    scene->line_width = line_width;
    return scene;
}

using BlockWithFields = std::pair<std::shared_ptr<Block>, std::vector<std::size_t>>;

nb::tuple draw(const Scene& scene, const Camera& camera, const std::vector<BlockWithFields>& blocks,
               const Image& image, const std::optional<Depth>& depth, int threads,
               const nb::object& check) {
    raycast::ImageBuffer buffer;
    buffer.format = image.dtype() == nb::dtype<float>() ? raycast::PixelFormat::rgba_float
                                                        : raycast::PixelFormat::rgba8;
    buffer.pixels = static_cast<std::byte*>(image.data());
    buffer.depth = depth ? depth->data() : nullptr;
    const auto height = static_cast<int>(image.shape(0)), width = static_cast<int>(image.shape(1));
    std::vector<raycast::BlockSource> sources;
    for (const auto& [block, fields] : blocks)
        sources.push_back({block.get(), fields});
    std::optional<nb::python_error> raised;
    const auto interrupted = [&] {
        const nb::gil_scoped_acquire lock;
        try {
            if (PyErr_CheckSignals() != 0)
                throw nb::python_error();
            if (!check.is_none())
                check();
        } catch (nb::python_error& error) {
            raised.emplace(std::move(error));
        }
        return raised.has_value();
    };
    const auto statistics = [&] {
        const nb::gil_scoped_release unlock;
        return raycast::cast(scene, camera, width, height, sources, buffer, threads, interrupted);
    }();
    if (raised)
        throw nb::python_error(std::move(*raised));
    nb::object bounds = nb::none();
    const auto& pixels = statistics.pixel_bounds;
    if (!pixels.empty())
        bounds = nb::make_tuple(pixels.left, pixels.right, pixels.top, pixels.bottom);
    return nb::make_tuple(bounds, statistics.nonfinite_count, statistics.hits, statistics.ranges);
}

} // namespace

void bind_raycast(nb::module_& module) {
    nb::class_<Block>(module, "Block")
        .def(nb::new_(&make_block), "start"_a, "points"_a, "first_cell"_a, "cells"_a, "fields"_a);
    nb::class_<ColorTable>(module, "ColorTable")
        .def(nb::new_(&make_colors), "rows"_a, "low"_a, "high"_a, "below"_a, "above"_a, "nan"_a,
             "logarithmic"_a);
    nb::class_<TransferTable>(module, "TransferTable")
        .def(nb::new_(&make_transfer), "points"_a, "nan"_a, "logarithmic"_a);
    nb::class_<Lighting>(module, "Lighting")
        .def(nb::init<float, float, float, float>(), "ambient"_a, "diffuse"_a, "specular"_a,
             "power"_a);
    nb::class_<Camera>(module, "Camera")
        .def(nb::init<Vector3, Vector3, Vector3, Vector3, double, bool>(), "position"_a, "right"_a,
             "up"_a, "forward"_a, "half_height"_a, "perspective"_a);
    nb::class_<HalfSpace>(module, "HalfSpace")
        .def(nb::init<Vector3, Vector3>(), "origin"_a, "normal"_a);
    nb::class_<Slice>(module, "Slice")
        .def(nb::init<std::size_t, Vector3, Vector3, Colors, float, bool>(), "field"_a, "origin"_a,
             "normal"_a, "colors"_a, "opacity"_a, "clipped"_a);
    nb::class_<Isosurface>(module, "Isosurface")
        .def(nb::init<std::size_t, std::vector<double>, Rgba, Colors, std::optional<std::size_t>,
                      float, MaybeLighting, bool>(),
             "field"_a, "values"_a, "color"_a, "colors"_a.none(), "color_field"_a.none(),
             "opacity"_a, "lighting"_a.none(), "clipped"_a);
    nb::class_<Volume>(module, "Volume")
        .def(nb::init<std::size_t, Transfer, double, MaybeLighting, bool>(), "field"_a,
             "transfer"_a, "unit_distance"_a, "shading"_a.none(), "clipped"_a);
    nb::class_<Scene>(module, "Scene")
        .def(nb::new_(&make_scene), "fields"_a, "layers"_a, "z"_a, "y"_a, "x"_a, "step"_a,
             "step_in_cells"_a, "half_spaces"_a, "bounding_box"_a.none(), "line_width"_a);
    module.def("cast", &draw, "scene"_a, "camera"_a, "blocks"_a, "image"_a, "depth"_a.none(),
               "threads"_a, "check"_a.none(),
               "Draw into memory; return bounds, number of non-finite values, hits and ranges of "
               "the layers.");
}

} // namespace uzushio::bindings
