#pragma once

#include <cstddef>
#include <cstdint>

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

/// Colour and depth of the nearest surface; a smaller depth is nearer.
struct alignas(8) Rgba8Depth {
    Rgba8 colour;
    float depth = 0;
    bool operator==(const Rgba8Depth&) const = default;
};

/// Pixel type, which determines the operator: `over` in visibility order for rgba8 and rgba_float,
/// the smaller depth for rgba8_depth (the front layer at equal depth).
enum class ImageFormat { rgba8, rgba_float, rgba8_depth };

/// Bits of a channel between stages. Intermediate results of `over` on Rgba8 are wide, 16 bits a
/// channel (0 to 65535), so that a picture is rounded to bytes once, in the last stage.
enum class ChannelWidth : std::uint8_t { narrow, wide };

[[nodiscard]] constexpr std::size_t pixel_bytes(ImageFormat format,
                                                ChannelWidth width = ChannelWidth::narrow) {
    switch (format) {
    case ImageFormat::rgba8:
        return width == ChannelWidth::narrow ? 4 : 8;
    case ImageFormat::rgba_float:
        return 16;
    case ImageFormat::rgba8_depth:
        return 8;
    }
    return 0;
}

} // namespace uzushio::compositing
