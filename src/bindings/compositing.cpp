#include <mpi.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
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
using compositing::Format;
using compositing::Options;
using compositing::Rectangle;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Memory = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
template <class Byte, int channels>
using Image = nb::ndarray<Byte, nb::shape<-1, -1, channels>, nb::c_contig, nb::device::cpu>;
/// Columns from and to, rows from and to.
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

void lay_on_background(const Image<const std::uint8_t, 4>& image,
                       const Image<const std::uint8_t, 3>& behind,
                       const Image<std::uint8_t, 3>& out) {
    const auto alike = [&](const auto& other) {
        return other.shape(0) == out.shape(0) && other.shape(1) == out.shape(1);
    };
    if (!alike(image) || !alike(behind))
        throw std::invalid_argument("an image, its background and the result are of one size");
    const nb::gil_scoped_release unlock;
    compositing::on_background({image.data(), image.size()}, {behind.data(), behind.size()},
                               {out.data(), out.size()});
}

/// A view that keeps the compositor alive.
Memory view(const std::byte* data, std::size_t size, nb::handle owner) {
    return Memory(const_cast<std::byte*>(data), {size}, owner);
}

/// Python destroys objects when it likes, on one rank before another: only `close` is collective.
class Handle {
  public:
    Handle(std::uintptr_t comm, const Options& options)
        : compositor_(std::make_unique<Compositor>(communicator(comm), options)) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() {
        if (compositor_)
            compositor_->abandon();
    }

    Compositor& operator*() const {
        if (!compositor_)
            throw std::logic_error("compositing: the compositor is closed");
        return *compositor_;
    }
    /// Collective, unless the compositor has failed. With `keep` on any rank its memory stays.
    void close(bool keep) {
        if (!compositor_)
            return;
        const bool stays = compositor_->failed() ? keep : compositor_->meet(keep);
        if (stays)
            return;
        compositor_.reset();
    }

  private:
    std::unique_ptr<Compositor> compositor_;
};

void construct(Handle* self, std::uintptr_t comm, const Options& options) {
    const nb::gil_scoped_release unlock;
    new (self) Handle(comm, options);
}

nb::object finish(nb::handle self) {
    auto& compositor = *nb::cast<Handle&>(self);
    const auto result = [&] {
        const nb::gil_scoped_release unlock;
        return compositor.finish();
    }();
    if (result.region.size() == 0)
        return nb::none();
    return nb::make_tuple(result.region.begin, result.region.end,
                          view(result.pixels.data(), result.pixels.size(), self));
}

std::vector<int> pixels_of(const Handle& self, int begin, int end) {
    const auto& compositor = *self;
    std::vector<int> indices;
    for (int position = begin; position < end; ++position)
        indices.push_back(compositor.interlace().index(position));
    return indices;
}

std::tuple<double, double, double, double> machine(const Handle& self) {
    const auto& m = (*self).machine();
    return {m.latency, m.bandwidth, m.blending, m.meeting};
}

} // namespace

void bind_compositing(nb::module_& module) {
    nb::enum_<Format>(module, "Format")
        .value("rgba8", Format::rgba8)
        .value("rgba_float", Format::rgba_float)
        .value("rgba8_depth", Format::rgba8_depth);

    nb::class_<Options>(module, "Options")
        .def(nb::init<>())
        .def_rw("width", &Options::width)
        .def_rw("height", &Options::height)
        .def_rw("format", &Options::format)
        .def_rw("algorithm", &Options::algorithm)
        .def_rw("root", &Options::root)
        .def_rw("gather", &Options::gather)
        .def_rw("interlace", &Options::interlace)
        .def_rw("frames", &Options::frames)
        .def_rw("far", &Options::far)
        .def_rw("fan_in", &Options::fan_in)
        .def_rw("ranks_per_node", &Options::ranks_per_node)
        .def_rw("limit", &Options::limit);

    nb::class_<Handle>(module, "Compositor")
        .def("close", &Handle::close, "keep"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("__init__", &construct, "comm"_a, "options"_a)
        .def("set_order",
             [](const Handle& self, const std::vector<int>& order) {
                 const nb::gil_scoped_release unlock;
                 (*self).set_order(order);
             })
        .def(
            "submit",
            [](const Handle& self, const Bytes& image, const Bounds& bounds) {
                const nb::gil_scoped_release unlock;
                (*self).submit_bytes(bytes(image), rectangle(bounds));
            },
            "image"_a, "bounds"_a.none())
        .def("canvas",
             [](nb::handle self) {
                 auto& compositor = *nb::cast<Handle&>(self);
                 const auto memory = [&] {
                     const nb::gil_scoped_release unlock;
                     return compositor.canvas();
                 }();
                 return view(memory.data(), memory.size(), self);
             })
        .def(
            "submit_canvas",
            [](const Handle& self, const Bounds& bounds) {
                const nb::gil_scoped_release unlock;
                (*self).submit_canvas(rectangle(bounds));
            },
            "bounds"_a.none())
        .def("finish", &finish)
        .def(
            "progress", [](const Handle& self) { (*self).progress(); },
            nb::call_guard<nb::gil_scoped_release>())
        .def("machine", &machine, nb::call_guard<nb::gil_scoped_release>())
        .def("pixels_of", &pixels_of)
        .def("predict",
             [](const Handle& self, const std::string& method) {
                 const nb::gil_scoped_release unlock;
                 return (*self).predict(compositing::parse_method(method));
             })
        .def_prop_ro("algorithm",
                     [](const Handle& self) { return compositing::to_string((*self).algorithm()); })
        .def_prop_ro("under_way", [](const Handle& self) { return (*self).under_way(); })
        .def_prop_ro("messages", [](const Handle& self) { return (*self).messages(); })
        .def_prop_ro("bytes", [](const Handle& self) { return (*self).bytes(); });

    module.def("on_background", &lay_on_background, "image"_a, "behind"_a, "out"_a,
               "Lay premultiplied bytes (rows, columns, 4) on an opaque background.");
    module.def("algorithms", [] {
        std::vector<std::string> names;
        for (const auto& algorithm : compositing::algorithms())
            names.emplace_back(algorithm.name);
        return names;
    });
    module.def(
        "memory_rates",
        [](std::uintptr_t comm) {
            const nb::gil_scoped_release unlock;
            const auto rates = compositing::memory_rates(communicator(comm));
            return std::make_pair(rates.triad, rates.blending);
        },
        "comm"_a, "Bytes a second that all ranks move in STREAM's triad, and in blending.");
}

} // namespace uzushio::bindings
