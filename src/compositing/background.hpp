#pragma once

#include <cstdint>
#include <span>

namespace uzushio::compositing {

/// Lay an image of premultiplied red, green, blue and opacity on an opaque background of red, green
/// and blue, rounding once. The three have the same number of pixels; `out` may be `behind`.
void on_background(std::span<const std::uint8_t> image, std::span<const std::uint8_t> behind,
                   std::span<std::uint8_t> out);

} // namespace uzushio::compositing
