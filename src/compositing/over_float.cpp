#include <algorithm>
#include <cstring>

#include "compositing/blend_kernels.hpp"

namespace uzushio::compositing {

namespace {

constexpr std::size_t block = 64; // pixels whose sums stay in cache
constexpr std::size_t channels = 4;

/// Sums of a block, four interleaved channels as in memory, and the transparency of each pixel,
/// repeated for each channel.
struct Sums {
    alignas(64) float value[channels * block];
    alignas(64) float transparency[channels * block];
};

[[gnu::always_inline]] inline void add(float* value, float* transparency, const float* pixels,
                                       std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const float before = transparency[channels * i];
        const float left = before * (1 - pixels[channels * i + 3]);
        for (std::size_t c = 0; c < channels; ++c) {
            value[channels * i + c] += before * pixels[channels * i + c];
            transparency[channels * i + c] = left;
        }
    }
}

void blend(std::span<const LayerPixels> layers, std::size_t pixels, std::byte* out,
           ChannelWidth /*to*/, float /*far*/) {
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
        std::fill_n(sums.transparency, channels * block, 1.0F);
        for (const auto& layer : layers) {
            const std::byte* const first = layer.pixels + from * bytes;
            const auto* const pixel = reinterpret_cast<const float*>(first);
            if (count == block)
                add(sums.value, sums.transparency, pixel, block);
            else
                add(sums.value, sums.transparency, pixel, count);
        }
        std::memcpy(out + from * bytes, sums.value, count * bytes);
    }
}

// Accumulators of a block: values, then transparencies.
float* values(BlendBlock& in) { return reinterpret_cast<float*>(in.memory); }
static_assert(sizeof(BlendBlock) >= 2 * channels * BlendBlock::pixels * sizeof(float));

void begin(BlendBlock& in, std::size_t pixels, float /*far*/) {
    std::fill_n(values(in), channels * pixels, 0.0F);
    std::fill_n(values(in) + channels * BlendBlock::pixels, channels * pixels, 1.0F);
}

void add_part(BlendBlock& in, std::size_t at, const LayerPixels& layer, std::size_t pixels) {
    float* const value = values(in) + channels * at;
    add(value, value + channels * BlendBlock::pixels, reinterpret_cast<const float*>(layer.pixels),
        pixels);
}

void end(const BlendBlock& in, std::size_t at, std::size_t pixels, std::byte* out,
         ChannelWidth /*to*/) {
    constexpr std::size_t bytes = channels * sizeof(float);
    std::memcpy(out, in.memory + at * bytes, pixels * bytes);
}

void activity(const std::byte* pixels, std::size_t groups, ChannelWidth /*width*/, float /*far*/,
              std::uint8_t* active) {
    constexpr std::size_t values = channels * group_pixels;
    const auto* const all = reinterpret_cast<const float*>(pixels);
    for (std::size_t g = 0; g < groups; ++g) {
        bool any = false; // NaN differs from zero: a pixel with NaN is active
        for (std::size_t i = 0; i < values; ++i)
            any |= all[values * g + i] != 0;
        active[g] = any;
    }
}

void clear(std::byte* out, std::size_t pixels, ChannelWidth /*width*/, float /*far*/) {
    std::memset(out, 0, pixels * channels * sizeof(float));
}

} // namespace

const BlendKernels over_float_kernels{
    ImageFormat::rgba_float, blend, begin, add_part, end, activity, clear};

} // namespace uzushio::compositing
