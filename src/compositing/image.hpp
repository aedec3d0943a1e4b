#pragma once

#include <algorithm>
#include <cstddef>

#include "compositing/pixel.hpp"
#include "compositing/pixel_interlacing.hpp"
#include "parallel/block.hpp"

namespace uzushio::compositing {

using parallel::Range;

[[nodiscard]] constexpr Range overlap(Range a, Range b) {
    const int begin = std::max(a.begin, b.begin);
    return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Columns and rows of a part of an image.
struct Rectangle {
    Range x;
    Range y;
    bool operator==(const Rectangle&) const = default;

    [[nodiscard]] bool empty() const { return x.size() <= 0 || y.size() <= 0; }
};

/// Size, pixel format, background and order of pixels of all images of a compositor.
struct ImageShape {
    int width = 0;
    int height = 0;
    ImageFormat format = ImageFormat::rgba8;
    float far = 0; ///< depth of the background
    PixelInterlacing interlacing;

    [[nodiscard]] int pixels() const { return width * height; }
    [[nodiscard]] Rectangle whole() const { return {{0, width}, {0, height}}; }
    [[nodiscard]] std::size_t bytes(ChannelWidth of = ChannelWidth::narrow) const {
        return pixel_bytes(format, of);
    }
};

/// One rank's image in memory of the caller, which is only read. Pixels outside `bounds` are
/// background and are not read.
struct ImageView {
    const std::byte* pixels = nullptr;
    ChannelWidth width = ChannelWidth::narrow;
    Rectangle bounds;
};

} // namespace uzushio::compositing
