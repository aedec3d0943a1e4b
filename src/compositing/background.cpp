#include "compositing/background.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstring>

namespace uzushio::compositing {

namespace {

/// Pixels are looked at in groups of so many: most have nothing in them, or are covered.
constexpr std::size_t group = 16;

/// Bits that are set in all, and in any, of the opacities of some pixels.
struct Opacities {
    unsigned all = 255, any = 0;
};

Opacities opacities(const std::uint8_t* image, std::size_t pixels) {
    Opacities found;
    for (std::size_t i = 0; i < pixels; ++i) {
        found.all &= image[4 * i + 3];
        found.any |= image[4 * i + 3];
    }
    return found;
}

void blend(const std::uint8_t* image, const std::uint8_t* behind, std::uint8_t* out) {
    const unsigned clear = 255U - image[3];
    for (std::size_t c = 0; c < 3; ++c) {
        unsigned shade = behind[c] * clear + 128;
        shade = (shade + (shade >> 8)) >> 8; // a division by 255 that rounds
        out[c] = static_cast<std::uint8_t>(std::min(shade + image[c], 255U));
    }
}

} // namespace

void on_background(std::span<const std::uint8_t> image, std::span<const std::uint8_t> behind,
                   std::span<std::uint8_t> out) {
    assert(image.size() / 4 == out.size() / 3 && behind.size() == out.size());
    const std::size_t pixels = out.size() / 3;
    for (std::size_t first = 0; first < pixels; first += group) {
        const std::size_t count = std::min(group, pixels - first);
        const std::uint8_t* const front = image.data() + 4 * first;
        const std::uint8_t* const back = behind.data() + 3 * first;
        std::uint8_t* const to = out.data() + 3 * first;
        const Opacities opaque = opacities(front, count);
        if (opaque.any == 0) {
            std::memmove(to, back, 3 * count);
        } else if (opaque.all == 255) {
            for (std::size_t i = 0; i < count; ++i)
                std::copy_n(front + 4 * i, 3, to + 3 * i);
        } else {
            for (std::size_t i = 0; i < count; ++i)
                blend(front + 4 * i, back + 3 * i, to + 3 * i);
        }
    }
}

} // namespace uzushio::compositing
