#include <mpi.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "bindings/bindings.hpp"
#include "bindings/mpi_handle.hpp"
#include "compositing/background.hpp"
#include "compositing/compositor.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using compositing::Compositor;
using compositing::CompositorOptions;
using compositing::ImageFormat;
using compositing::Rectangle;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Memory = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
template <class Byte, int channels>
using Image = nb::ndarray<Byte, nb::shape<-1, -1, channels>, nb::c_contig, nb::device::cpu>;
/// Columns and rows: x0, x1, y0, y1.
using Bounds = std::optional<std::tuple<int, int, int, int>>;

std::optional<Rectangle> rectangle(const Bounds& bounds) {
    if (!bounds)
        return std::nullopt;
    const auto [x0, x1, y0, y1] = *bounds;
    return Rectangle{{x0, x1}, {y0, y1}};
}

std::span<const std::byte> bytes(const Bytes& array) {
    return std::as_bytes(std::span(array.data(), array.size()));
}

void blend_onto_background(const Image<const std::uint8_t, 4>& image,
                           const Image<const std::uint8_t, 3>& background,
                           const Image<std::uint8_t, 3>& out) {
    const auto has_size_of_out = [&](const auto& other) {
        return other.shape(0) == out.shape(0) && other.shape(1) == out.shape(1);
    };
    if (!has_size_of_out(image) || !has_size_of_out(background))
        throw std::invalid_argument(
            "the image, its background and the result must have the same size");
    const nb::gil_scoped_release unlock;
    compositing::blend_onto_background({image.data(), image.size()},
                                       {background.data(), background.size()},
                                       {out.data(), out.size()});
}

/// Return a view that keeps the compositor alive.
Memory view(const std::byte* data, std::size_t size, nb::handle owner) {
    return Memory(const_cast<std::byte*>(data), {size}, owner);
}

/// Compositor of a Python object. Ranks destroy Python objects at different times, so only `close`
/// is collective.
class CompositorHandle {
  public:
    CompositorHandle(std::uintptr_t comm, const CompositorOptions& options)
        : compositor_(std::make_unique<Compositor>(communicator(comm), options)) {}
    CompositorHandle(const CompositorHandle&) = delete;
    CompositorHandle& operator=(const CompositorHandle&) = delete;
    ~CompositorHandle() {
        if (compositor_)
            compositor_->abandon();
    }

    Compositor& operator*() const {
        if (!compositor_)
            throw std::logic_error("compositing: the compositor is closed");
        return *compositor_;
    }
    /// Free the compositor (collective, unless it has failed). With `keep` on any rank its memory
    /// stays.
    void close(bool keep) {
        if (!compositor_)
            return;
        if (!(compositor_->failed() ? keep : compositor_->finish_all(keep)))
            compositor_.reset();
    }

  private:
    std::unique_ptr<Compositor> compositor_;
};

/// `problem`: a mistake in the arguments of this rank, empty if there is none.
void construct(CompositorHandle* self, std::uintptr_t comm, const CompositorOptions& options,
               const std::string& problem) {
    const nb::gil_scoped_release unlock;
    if (!problem.empty())
        compositing::agree_on_options(communicator(comm), options, problem); // throws on all ranks
    new (self) CompositorHandle(comm, options);
}

nb::object finish(nb::handle self) {
    auto& compositor = *nb::cast<CompositorHandle&>(self);
    const auto result = [&] {
        const nb::gil_scoped_release unlock;
        return compositor.finish();
    }();
    if (result.region.size() == 0)
        return nb::none();
    return nb::make_tuple(result.region.begin, result.region.end,
                          view(result.pixels.data(), result.pixels.size(), self));
}

std::vector<int> pixels_of(const CompositorHandle& self, int begin, int end) {
    const auto& compositor = *self;
    std::vector<int> indices;
    for (int position = begin; position < end; ++position)
        indices.push_back(compositor.interlacing().index(position));
    return indices;
}

std::tuple<double, double, double, double> machine(const CompositorHandle& self) {
    const auto& m = (*self).machine();
    return {m.latency, m.bandwidth, m.blending, m.barrier};
}

} // namespace

void bind_compositing(nb::module_& module) {
    nb::enum_<ImageFormat>(module, "ImageFormat")
        .value("rgba8", ImageFormat::rgba8)
        .value("rgba_float", ImageFormat::rgba_float)
        .value("rgba8_depth", ImageFormat::rgba8_depth);

    nb::class_<CompositorOptions>(module, "CompositorOptions")
        .def(nb::init<>())
        .def_rw("width", &CompositorOptions::width)
        .def_rw("height", &CompositorOptions::height)
        .def_rw("format", &CompositorOptions::format)
        .def_rw("algorithm", &CompositorOptions::algorithm)
        .def_rw("root", &CompositorOptions::root)
        .def_rw("gather", &CompositorOptions::gather)
        .def_rw("interlace", &CompositorOptions::interlace)
        .def_rw("frames", &CompositorOptions::frames)
        .def_rw("far", &CompositorOptions::far)
        .def_rw("fan_in", &CompositorOptions::fan_in)
        .def_rw("ranks_per_node", &CompositorOptions::ranks_per_node)
        .def_rw("limit", &CompositorOptions::limit);

    nb::class_<CompositorHandle>(module, "Compositor")
        .def("close", &CompositorHandle::close, "keep"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("__init__", &construct, "comm"_a, "options"_a, "problem"_a)
        .def("set_order",
             [](const CompositorHandle& self, const std::vector<int>& order) {
                 const nb::gil_scoped_release unlock;
                 (*self).set_order(order);
             })
        .def(
            "submit",
            [](const CompositorHandle& self, const Bytes& image, const Bounds& bounds) {
                const nb::gil_scoped_release unlock;
                (*self).submit_bytes(bytes(image), rectangle(bounds));
            },
            "image"_a, "bounds"_a.none())
        .def("canvas",
             [](nb::handle self) {
                 auto& compositor = *nb::cast<CompositorHandle&>(self);
                 const auto memory = [&] {
                     const nb::gil_scoped_release unlock;
                     return compositor.canvas();
                 }();
                 return view(memory.data(), memory.size(), self);
             })
        .def(
            "submit_canvas",
            [](const CompositorHandle& self, const Bounds& bounds) {
                const nb::gil_scoped_release unlock;
                (*self).submit_canvas(rectangle(bounds));
            },
            "bounds"_a.none())
        .def("finish", &finish)
        .def(
            "progress", [](const CompositorHandle& self) { (*self).progress(); },
            nb::call_guard<nb::gil_scoped_release>())
        .def("machine", &machine, nb::call_guard<nb::gil_scoped_release>())
        .def("pixels_of", &pixels_of)
        .def("predict",
             [](const CompositorHandle& self, const std::string& algorithm) {
                 const nb::gil_scoped_release unlock;
                 return (*self).predict(compositing::parse_algorithm(algorithm));
             })
        .def_prop_ro("algorithm",
                     [](const CompositorHandle& self) {
                         return compositing::to_string((*self).algorithm());
                     })
        .def_prop_ro("messages", [](const CompositorHandle& self) { return (*self).messages(); });

    module.def("blend_onto_background", &blend_onto_background, "image"_a, "background"_a, "out"_a,
               "Blend premultiplied bytes (rows, columns, 4) onto an opaque background.");
    module.def("algorithms", [] {
        std::vector<std::string> names;
        for (const auto& algorithm : compositing::algorithms())
            names.emplace_back(algorithm.name);
        return names;
    });
    module.def(
        "memory_blending_rate",
        [](std::uintptr_t comm) { return compositing::memory_blending_rate(communicator(comm)); },
        "comm"_a, nb::call_guard<nb::gil_scoped_release>(),
        "Return the bytes a second that all ranks move in blending.");
}

} // namespace uzushio::bindings
