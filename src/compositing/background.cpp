#include "compositing/background.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>

namespace uzushio::compositing {

namespace {

// Pixels whose opacities are tested together: in most groups all are transparent, or all opaque.
constexpr std::size_t group = 16;

/// Bitwise AND and OR of the opacities of a group of pixels.
struct OpacityBits {
    unsigned all = 255, any = 0;
};

OpacityBits opacity_bits(const std::uint8_t* image, std::size_t pixels) {
    OpacityBits bits;
    for (std::size_t i = 0; i < pixels; ++i) {
        bits.all &= image[4 * i + 3];
        bits.any |= image[4 * i + 3];
    }
    return bits;
}

void blend(const std::uint8_t* image, const std::uint8_t* background, std::uint8_t* out) {
    const unsigned clear = 255U - image[3];
    for (std::size_t c = 0; c < 3; ++c) {
        unsigned shade = background[c] * clear + 128;
        shade = (shade + (shade >> 8)) >> 8; // rounded division by 255
        out[c] = static_cast<std::uint8_t>(std::min(shade + image[c], 255U));
    }
}

} // namespace

void blend_onto_background(std::span<const std::uint8_t> image,
                           std::span<const std::uint8_t> background, std::span<std::uint8_t> out) {
    assert(image.size() / 4 == out.size() / 3 && background.size() == out.size());
    const std::size_t pixels = out.size() / 3;
    for (std::size_t first = 0; first < pixels; first += group) {
        const std::size_t count = std::min(group, pixels - first);
        const std::uint8_t* const front = image.data() + 4 * first;
        const std::uint8_t* const behind = background.data() + 3 * first;
        std::uint8_t* const to = out.data() + 3 * first;
        const OpacityBits opacity = opacity_bits(front, count);
        if (opacity.any == 0) {
            std::memmove(to, behind, 3 * count);
        } else if (opacity.all == 255) {
            for (std::size_t i = 0; i < count; ++i)
                std::copy_n(front + 4 * i, 3, to + 3 * i);
        } else {
            for (std::size_t i = 0; i < count; ++i)
                blend(front + 4 * i, behind + 3 * i, to + 3 * i);
        }
    }
}

} // namespace uzushio::compositing
