#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace uzushio::compositing {

/// Colour premultiplied by opacity, 8 bits a channel.
struct Rgba8 {
    std::uint8_t r = 0, g = 0, b = 0, a = 0;
    bool operator==(const Rgba8&) const = default;
};

/// Colour premultiplied by opacity; opacity in [0, 1].
struct RgbaFloat {
    float r = 0, g = 0, b = 0, a = 0;
    bool operator==(const RgbaFloat&) const = default;
};

/// Colour of the nearest surface and its depth: smaller is nearer.
struct alignas(8) Rgba8Depth {
    Rgba8 colour;
    float depth = 0;
    bool operator==(const Rgba8Depth&) const = default;
};

/// What a pixel is, and with it how two of them combine: `over` in visibility order for the first
/// two, the nearer one for the third (the one in front where both are as near).
enum class Format { rgba8, rgba_float, rgba8_depth };

/// Bytes of a channel may be kept wider between stages: results of `over` on Rgba8 travel with 16
/// bits a channel (0 to 65535) until the last stage, so that a picture is rounded once.
enum class Width : std::uint8_t { narrow, wide };

[[nodiscard]] constexpr std::size_t pixel_bytes(Format format, Width width = Width::narrow) {
    switch (format) {
    case Format::rgba8:
        return width == Width::narrow ? 4 : 8;
    case Format::rgba_float:
        return 16;
    case Format::rgba8_depth:
        return 8;
    }
    return 0;
}

} // namespace uzushio::compositing
