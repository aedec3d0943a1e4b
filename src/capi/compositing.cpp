#include "uzushio/compositing.h"

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "capi/arguments.hpp"
#include "capi/status.hpp"
#include "compositing/compositor.hpp"

using namespace uzushio::capi;
namespace compositing = uzushio::compositing;

struct uz_compositor {
    compositing::Compositor compositor;
    std::size_t bytes; ///< size of an image
};

namespace {

compositing::ImageFormat format_of(uz_pixel format) {
    switch (format) {
    case UZ_RGBA8:
        return compositing::ImageFormat::rgba8;
    case UZ_RGBA_FLOAT:
        return compositing::ImageFormat::rgba_float;
    case UZ_RGBA8_DEPTH:
        return compositing::ImageFormat::rgba8_depth;
    default:
        refuse("'format' is " + std::to_string(format) +
               "; it must be UZ_RGBA8, UZ_RGBA_FLOAT or UZ_RGBA8_DEPTH.");
    }
}

compositing::CompositorOptions options_of(const uz_compositor_options& given_options) {
    compositing::CompositorOptions options;
    options.width = given_options.width;
    options.height = given_options.height;
    options.format = format_of(given_options.format);
    options.algorithm = text_of(given_options.algorithm, "algorithm");
    options.root = given_options.root;
    options.gather = given_options.gather != 0;
    options.interlace = given_options.interlace;
    options.frames = given_options.frames;
    options.far = given_options.far_depth;
    options.limit = given_options.limit;
    return options;
}

/// Call `work` with the compositor of a handle. A call at the wrong time is an argument error.
template <class Work> uz_status with(uz_compositor* compositor, Work&& work) noexcept {
    return guarded([&] {
        try {
            work(*given(compositor, "compositor"));
        } catch (const std::logic_error& error) {
            refuse(error.what());
        }
    });
}

} // namespace

void uz_compositor_defaults(uz_compositor_options* options) {
    if (options != nullptr)
        *options = {0,  0, UZ_RGBA8, "auto", 0, 1, 0, 2, std::numeric_limits<float>::infinity(),
                    600};
}

uz_status uz_compositor_create(MPI_Comm comm, const uz_compositor_options* options,
                               uz_compositor** compositor) {
    if (compositor != nullptr)
        *compositor = nullptr;
    return guarded([&] {
        given(compositor, "compositor");
        compositing::CompositorOptions chosen;
        try {
            chosen = options_of(*given(options, "options"));
        } catch (const ArgumentError& error) {
            compositing::agree_on_options(comm, chosen, error.what()); // throws on all ranks
        }
        const auto bytes = static_cast<std::size_t>(std::max(chosen.width, 0)) *
                           static_cast<std::size_t>(std::max(chosen.height, 0)) *
                           compositing::pixel_bytes(chosen.format);
        *compositor = new uz_compositor{{comm, chosen}, bytes};
    });
}

uz_status uz_compositor_set_order(uz_compositor* compositor, const int* front_to_back, int count) {
    return with(compositor, [&](uz_compositor& c) {
        if (count < 0)
            refuse("'count' is negative; it must be the number of ranks that have data.");
        if (count > 0)
            given(front_to_back, "front_to_back");
        c.compositor.set_order({front_to_back, static_cast<std::size_t>(count)});
    });
}

uz_status uz_compositor_canvas(uz_compositor* compositor, void** image) {
    return with(compositor,
                [&](uz_compositor& c) { *given(image, "image") = c.compositor.canvas().data(); });
}

uz_status uz_compositor_submit(uz_compositor* compositor, const void* image,
                               const uz_rectangle* bounds) {
    return with(compositor, [&](uz_compositor& c) {
        std::optional<compositing::Rectangle> part;
        if (bounds != nullptr)
            part = {{bounds->x0, bounds->x1}, {bounds->y0, bounds->y1}};
        if (image == nullptr)
            c.compositor.submit_canvas(part);
        else
            c.compositor.submit_bytes({static_cast<const std::byte*>(image), c.bytes}, part);
    });
}

uz_status uz_compositor_finish(uz_compositor* compositor, uz_picture* picture) {
    return with(compositor, [&](uz_compositor& c) {
        given(picture, "picture");
        const auto result = c.compositor.finish();
        const auto count = static_cast<std::size_t>(result.region.size());
        *picture = {count > 0 ? result.pixels.data() : nullptr,
                    static_cast<std::size_t>(result.region.begin), count};
    });
}

uz_status uz_compositor_progress(uz_compositor* compositor) {
    return with(compositor, [](uz_compositor& c) { c.compositor.progress(); });
}

size_t uz_compositor_pixel(const uz_compositor* compositor, size_t position) {
    return compositor == nullptr ? position
                                 : static_cast<size_t>(compositor->compositor.interlacing().index(
                                       static_cast<int>(position)));
}

uz_status uz_compositor_destroy(uz_compositor** compositor) {
    return guarded([&] {
        const std::unique_ptr<uz_compositor> owned(
            std::exchange(*given(compositor, "compositor"), nullptr));
        try {
            if (owned && !owned->compositor.failed())
                (void)owned->compositor.finish_all();
        } catch (const std::logic_error& error) {
            refuse(error.what());
        }
    });
}
