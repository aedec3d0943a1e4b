#include <algorithm>
#include <cstring>

#include "compositing/kernel_table.hpp"

namespace uzushio::compositing {

namespace {

constexpr std::size_t block = 64; // pixels whose sums stay in cache
constexpr std::size_t channels = 4;

/// Four channels side by side, as they are in memory, each with what shines through its pixel.
struct Sums {
    alignas(64) float value[channels * block];
    alignas(64) float clear[channels * block];
};

void add(Sums& sums, const float* pixels) {
    for (std::size_t i = 0; i < block; ++i) {
        const float clear = sums.clear[channels * i];
        const float left = clear * (1 - pixels[channels * i + 3]);
        for (std::size_t c = 0; c < channels; ++c) {
            sums.value[channels * i + c] += clear * pixels[channels * i + c];
            sums.clear[channels * i + c] = left;
        }
    }
}

void blend(std::span<const Source> layers, std::size_t pixels, std::byte* out, Width /*to*/,
           float /*far*/) {
    constexpr std::size_t bytes = channels * sizeof(float);
    if (layers.size() == 1) {
        if (out != layers[0].pixels)
            std::memmove(out, layers[0].pixels, pixels * bytes);
        return;
    }
    Sums sums;
    for (std::size_t from = 0; from < pixels; from += block) {
        const std::size_t count = std::min(block, pixels - from);
        std::fill_n(sums.value, channels * block, 0.0F);
        std::fill_n(sums.clear, channels * block, 1.0F);
        for (const auto& layer : layers) {
            const std::byte* const first = layer.pixels + from * bytes;
            if (count == block) {
                add(sums, reinterpret_cast<const float*>(first));
                continue;
            }
            float rest[channels * block] = {};
            std::memcpy(rest, first, count * bytes);
            add(sums, rest);
        }
        std::memcpy(out + from * bytes, sums.value, count * bytes);
    }
}

void activity(const std::byte* pixels, std::size_t groups, Width /*width*/, float /*far*/,
              std::uint8_t* active) {
    constexpr std::size_t values = channels * group_pixels;
    const auto* const all = reinterpret_cast<const float*>(pixels);
    for (std::size_t g = 0; g < groups; ++g) {
        bool any = false; // NaN differs from zero: a pixel that somebody computed is never dropped
        for (std::size_t i = 0; i < values; ++i)
            any |= all[values * g + i] != 0;
        active[g] = any;
    }
}

void clear(std::byte* out, std::size_t pixels, Width /*width*/, float /*far*/) {
    std::memset(out, 0, pixels * channels * sizeof(float));
}

} // namespace

const Kernels over_float_kernels{Format::rgba_float, blend, activity, clear};

} // namespace uzushio::compositing
