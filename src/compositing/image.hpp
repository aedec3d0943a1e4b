#pragma once

#include <algorithm>
#include <cstddef>

#include "compositing/interlace.hpp"
#include "compositing/kernels.hpp"
#include "parallel/block.hpp"

namespace uzushio::compositing {

using parallel::Range;

[[nodiscard]] constexpr Range overlap(Range a, Range b) {
    const int begin = std::max(a.begin, b.begin);
    return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Part of an image: columns and rows.
struct Rectangle {
    Range x;
    Range y;
    bool operator==(const Rectangle&) const = default;

    [[nodiscard]] bool empty() const { return x.size() <= 0 || y.size() <= 0; }
};

/// What all images of a compositor have in common.
struct Shape {
    int width = 0;
    int height = 0;
    Format format = Format::rgba8;
    float far = 0; ///< depth of the background
    Interlace order;

    [[nodiscard]] int pixels() const { return width * height; }
    [[nodiscard]] Rectangle whole() const { return {{0, width}, {0, height}}; }
    [[nodiscard]] std::size_t bytes(Width of = Width::narrow) const {
        return pixel_bytes(format, of);
    }
};

/// One rank's image. The memory is the caller's and is only read. Pixels outside `bounds` count as
/// background and are not looked at.
struct Picture {
    const std::byte* pixels = nullptr;
    Width width = Width::narrow;
    Rectangle bounds;
};

} // namespace uzushio::compositing
