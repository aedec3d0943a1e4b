#pragma once

#include <cstdint>
#include <span>

namespace uzushio::compositing {

/// Blend an image of premultiplied red, green, blue and opacity onto an opaque background of red,
/// green and blue, rounding once. All three have the same number of pixels; `out` may be
/// `background`.
void blend_onto_background(std::span<const std::uint8_t> image,
                           std::span<const std::uint8_t> background, std::span<std::uint8_t> out);

} // namespace uzushio::compositing
