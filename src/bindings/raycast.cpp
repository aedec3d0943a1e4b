#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <tuple>

#include "bindings/bindings.hpp"
#include "raycast/cast.hpp"
#include "raycast/contour.hpp"
#include "raycast/surface_painter.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using raycast::Block;
using raycast::Camera;
using raycast::ColorTable;
using raycast::Index;
using raycast::Lighting;
using raycast::PointValues;
using raycast::Rgba;
using raycast::Scene;
using raycast::TransferTable;
using raycast::Vector3;
using Transfer = std::shared_ptr<const TransferTable>;
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

/// Return an attribute of an object of uzushio.raycast.
template <class T> T get(nb::handle object, const char* name) {
    return nb::cast<T>(object.attr(name));
}

std::shared_ptr<const ColorTable> colors_of(nb::handle table) {
    if (table.is_none())
        return nullptr;
    const auto rows = get<Table>(table, "rgba");
    std::vector<Rgba> colors(rows.shape(0));
    std::copy_n(rows.data(), 4 * colors.size(), colors.empty() ? nullptr : colors[0].data());
    const auto [below, above] = get<std::pair<Rgba, Rgba>>(table, "ends");
    return std::make_shared<ColorTable>(colors, get<double>(table, "lo"), get<double>(table, "hi"),
                                        below, above, get<Rgba>(table, "nan"),
                                        get<bool>(table, "logarithmic"));
}

std::optional<Lighting> lighting_of(nb::handle light) {
    if (light.is_none())
        return std::nullopt;
    return Lighting{get<float>(light, "ambient"), get<float>(light, "diffuse"),
                    get<float>(light, "specular"), get<float>(light, "power")};
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

raycast::Layer layer_of(nb::handle layer, const std::vector<std::string>& fields, double step) {
    const auto index_of = [&](const std::string& field) {
        return static_cast<std::size_t>(std::find(fields.begin(), fields.end(), field) -
                                        fields.begin());
    };
    const std::size_t field = index_of(get<std::string>(layer, "field"));
    const bool clipped = get<bool>(layer, "clipped");
    if (nb::hasattr(layer, "medium"))
        return raycast::Volume{field, get<Transfer>(layer.attr("medium"), "table"),
                               get<std::optional<double>>(layer, "unit_distance").value_or(step),
                               lighting_of(layer.attr("shading")), clipped};
    const auto opacity = get<float>(layer, "opacity");
    const auto colors = colors_of(layer.attr("colors"));
    if (!nb::hasattr(layer, "values"))
        return raycast::Slice{
            field,  get<Vector3>(layer, "origin"), get<Vector3>(layer, "normal"), colors, opacity,
            clipped};
    const auto color_field = get<std::optional<std::string>>(layer, "color_field");
    return raycast::Isosurface{field,
                               get<std::vector<double>>(layer, "values"),
                               get<std::optional<Rgba>>(layer, "color").value_or(Rgba{0, 0, 0, 1}),
                               colors,
                               color_field ? std::optional(index_of(*color_field)) : std::nullopt,
                               opacity,
                               lighting_of(layer.attr("lighting")),
                               clipped};
}

Scene scene_of(nb::handle given, double step, double step_in_cells) {
    Scene scene;
    scene.fields = get<std::vector<std::string>>(given, "fields");
    for (const nb::handle layer : given.attr("layers"))
        scene.layers.push_back(layer_of(layer, scene.fields, step));
    const auto domain = get<std::array<Coordinates, 3>>(given, "domain");
    for (std::size_t axis = 3; axis-- > 0;) // z, y, x in Python
        scene.axes.emplace_back(std::span(domain[axis].data(), domain[axis].size()));
    scene.step = step;
    scene.step_in_cells = step_in_cells;
    for (const nb::handle part : given.attr("half_spaces"))
        scene.half_spaces.push_back({get<Vector3>(part, "origin"), get<Vector3>(part, "normal")});
    scene.bounding_box = get<std::optional<Rgba>>(given, "bounding_box");
    scene.line_width = get<double>(given, "line_width");
    return scene;
}

Camera camera_of(nb::handle camera) {
    const auto axes = get<std::array<Vector3, 3>>(camera, "axes");
    return {get<Vector3>(camera, "position"),
            axes[0],
            axes[1],
            axes[2],
            get<double>(camera, "half_height"),
            camera.attr("parallel_height").is_none()};
}

using BlockWithFields = std::pair<std::shared_ptr<Block>, std::vector<std::size_t>>;

nb::tuple draw(nb::handle given, const std::pair<double, double>& steps, nb::handle view,
               const std::vector<BlockWithFields>& blocks, const Image& image,
               const std::optional<Depth>& depth, int threads, const nb::object& check) {
    const Scene scene = scene_of(given, steps.first, steps.second);
    const Camera camera = camera_of(view);
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

/// x, y and z of vertices, (z, y, x, 3), contiguous along x.
using Corners = nb::ndarray<const double, nb::shape<-1, -1, -1, 3>, nb::device::cpu>;
using PixelBytes = nb::ndarray<std::uint8_t, nb::shape<-1, -1, 8>, nb::c_contig, nb::device::cpu>;
using ColorBytes = nb::ndarray<const std::uint8_t, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using raycast::MeshPart;
using Surface = raycast::TriangleSurface;

/// Return the cells of a mesh; `first` and `cells` are in the order z, y, x.
MeshPart part_of(const Corners& corners, const std::array<std::ptrdiff_t, 3>& first,
                 const std::array<std::ptrdiff_t, 3>& cells) {
    MeshPart part;
    part.corners = corners.data();
    part.strides = {corners.stride(1) / 3, corners.stride(0) / 3};
    if (corners.stride(3) != 1 || corners.stride(2) != 3 || corners.stride(1) % 3 != 0 ||
        corners.stride(0) % 3 != 0)
        throw std::invalid_argument("raycast: vertices of a row are contiguous");
    for (std::size_t a = 0; a < 3; ++a) {
        part.vertices[a] = static_cast<std::ptrdiff_t>(corners.shape(2 - a));
        part.first[a] = first[2 - a];
        part.cells[a] = cells[2 - a];
        if (part.first[a] < 0 || part.first[a] + part.cells[a] >= part.vertices[a])
            throw std::invalid_argument("raycast: cells have no vertices");
    }
    return part;
}

std::vector<PointValues> views(const MeshPart& part, const std::vector<Values>& arrays) {
    std::vector<PointValues> fields;
    for (const auto& array : arrays) {
        for (std::size_t a = 0; a < 3; ++a)
            if (static_cast<std::ptrdiff_t>(array.shape(2 - a)) != part.vertices[a])
                throw std::invalid_argument("raycast: a field needs a value at each vertex");
        fields.push_back(view(array));
    }
    return fields;
}

Surface isosurface(const Corners& corners, const std::array<std::ptrdiff_t, 3>& first,
                   const std::array<std::ptrdiff_t, 3>& cells, const Values& field, double value,
                   const std::vector<Values>& fields, bool normals, int threads) {
    const MeshPart part = part_of(corners, first, cells);
    const auto level = views(part, {field}), others = views(part, fields);
    const nb::gil_scoped_release unlock;
    return raycast::isosurface(part, level[0], value, others, normals, threads);
}

Surface slice(const Corners& corners, const std::array<std::ptrdiff_t, 3>& first,
              const std::array<std::ptrdiff_t, 3>& cells, const Vector3& origin,
              const Vector3& normal, const std::vector<Values>& fields, int threads) {
    const MeshPart part = part_of(corners, first, cells);
    const auto others = views(part, fields);
    const nb::gil_scoped_release unlock;
    return raycast::slice(part, origin, normal, others, threads);
}

/// Surface with attributes as of `uzushio.raycast.SurfacePaint`.
using Painted = std::tuple<const Surface*, nb::object>;

void paint(const std::vector<Painted>& surfaces, nb::handle view, const PixelBytes& image,
           int threads) {
    static_assert(sizeof(raycast::DepthPixel) == 8);
    std::vector<std::pair<const Surface*, raycast::Paint>> painted;
    for (const auto& [surface, given] : surfaces) {
        raycast::Paint how;
        how.color = get<std::array<std::uint8_t, 4>>(given, "color");
        how.field = get<int>(given, "values");
        if (how.field >= static_cast<int>(surface->values.size()))
            throw std::invalid_argument("raycast: the surface has no such values");
        if (how.field >= 0) {
            const auto table = get<ColorBytes>(given, "table");
            if (table.shape(0) < 4)
                throw std::invalid_argument("raycast: a table of colours has four rows at least");
            how.table.resize(table.shape(0));
            std::copy_n(table.data(), 4 * how.table.size(), how.table[0].data());
        }
        how.low = get<double>(given, "low");
        how.high = get<double>(given, "high");
        how.logarithmic = get<bool>(given, "logarithmic");
        how.lit = get<bool>(given, "lit");
        painted.emplace_back(surface, std::move(how));
    }
    const auto camera = camera_of(view);
    auto* pixels = reinterpret_cast<raycast::DepthPixel*>(image.data());
    const nb::gil_scoped_release unlock;
    raycast::paint(painted, camera, static_cast<int>(image.shape(1)),
                   static_cast<int>(image.shape(0)), pixels, threads);
}

/// Return rows of numbers of a surface as an array, which keeps the surface.
template <class T, class Rows> auto rows_of(nb::handle surface, const Rows& rows) {
    return nb::ndarray<nb::numpy, const T, nb::ndim<2>>(rows.data(), {rows.size(), 3}, surface);
}

void bind_surfaces(nb::module_& module) {
    nb::class_<Surface>(module, "Surface")
        .def_prop_ro("points",
                     [](nb::handle surface) {
                         return rows_of<double>(surface, nb::cast<Surface&>(surface).points);
                     })
        .def_prop_ro("normals",
                     [](nb::handle surface) {
                         return rows_of<float>(surface, nb::cast<Surface&>(surface).normals);
                     })
        .def_prop_ro("triangles",
                     [](nb::handle surface) {
                         return rows_of<std::uint32_t>(surface,
                                                       nb::cast<Surface&>(surface).triangles);
                     })
        .def("values",
             [](nb::handle surface, std::size_t field) {
                 const auto& values = nb::cast<Surface&>(surface).values.at(field);
                 return nb::ndarray<nb::numpy, const double, nb::ndim<1>>(values.data(),
                                                                          {values.size()}, surface);
             })
        .def("clip", &raycast::clip, "origin"_a, "normal"_a);
    module.def("isosurface", &isosurface, "corners"_a.noconvert(), "first"_a, "cells"_a,
               "field"_a.noconvert(), "value"_a, "fields"_a.noconvert(), "normals"_a,
               "threads"_a = 1);
    module.def("slice", &slice, "corners"_a.noconvert(), "first"_a, "cells"_a, "origin"_a,
               "normal"_a, "fields"_a.noconvert(), "threads"_a = 1);
    module.def("paint", &paint, "surfaces"_a, "camera"_a, "image"_a.noconvert(), "threads"_a = 1);
}

} // namespace

void bind_raycast(nb::module_& module) {
    nb::class_<Block>(module, "Block")
        .def(nb::new_(&make_block), "start"_a, "points"_a, "first_cell"_a, "cells"_a, "fields"_a);
    nb::class_<TransferTable>(module, "TransferTable")
        .def(nb::new_(&make_transfer), "points"_a, "nan"_a, "logarithmic"_a);
    module.def("cast", &draw, "scene"_a, "steps"_a, "camera"_a, "blocks"_a, "image"_a,
               "depth"_a.none(), "threads"_a, "check"_a.none(),
               "Draw a Scene into memory; `steps` are its maximum lengths of segments. Return "
               "bounds, number of non-finite values, hits and ranges of the layers.");
    bind_surfaces(module);
}

} // namespace uzushio::bindings
