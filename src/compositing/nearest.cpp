#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "compositing/blend_kernels.hpp"

namespace uzushio::compositing {

namespace {

constexpr std::size_t block = 256; // pixels whose nearest values stay in cache

static_assert(std::endian::native == std::endian::little, "the depth is the upper half");
static_assert(sizeof(Rgba8Depth) == sizeof(std::uint64_t));

float depth(std::uint64_t pixel) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(pixel >> 32));
}

/// Return a transparent pixel at depth `far`.
std::uint64_t background(float far) {
    return std::uint64_t{std::bit_cast<std::uint32_t>(far)} << 32;
}

/// Keep the strictly nearer pixel: at equal depth the front layer stays, and NaN is never taken.
[[gnu::always_inline]] inline void add(std::uint64_t* nearest, const std::uint64_t* pixels,
                                       std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        nearest[i] = depth(pixels[i]) < depth(nearest[i]) ? pixels[i] : nearest[i];
}

void blend(std::span<const LayerPixels> layers, std::size_t pixels, std::byte* out,
           ChannelWidth /*to*/, float far) {
    alignas(64) std::uint64_t nearest[block];
    for (std::size_t from = 0; from < pixels; from += block) {
        const std::size_t count = std::min(block, pixels - from);
        std::fill_n(nearest, block, background(far));
        for (const auto& layer : layers) {
            const auto* const pixel = reinterpret_cast<const std::uint64_t*>(layer.pixels) + from;
            if (count == block)
                add(nearest, pixel, block);
            else
                add(nearest, pixel, count);
        }
        std::memcpy(out + from * sizeof(std::uint64_t), nearest, count * sizeof(std::uint64_t));
    }
}

std::uint64_t* pixels_of(BlendBlock& in) { return reinterpret_cast<std::uint64_t*>(in.memory); }

void begin(BlendBlock& in, std::size_t pixels, float far) {
    std::fill_n(pixels_of(in), pixels, background(far));
}

void add_part(BlendBlock& in, std::size_t at, const LayerPixels& layer, std::size_t pixels) {
    add(pixels_of(in) + at, reinterpret_cast<const std::uint64_t*>(layer.pixels), pixels);
}

void end(const BlendBlock& in, std::size_t at, std::size_t pixels, std::byte* out,
         ChannelWidth /*to*/) {
    std::memcpy(out, in.memory + at * sizeof(std::uint64_t), pixels * sizeof(std::uint64_t));
}

void activity(const std::byte* pixels, std::size_t groups, ChannelWidth /*width*/, float far,
              std::uint8_t* active) {
    const auto* const all = reinterpret_cast<const std::uint64_t*>(pixels);
    for (std::size_t g = 0; g < groups; ++g) {
        bool any = false;
        for (std::size_t i = 0; i < group_pixels; ++i)
            any |= depth(all[group_pixels * g + i]) < far;
        active[g] = any;
    }
}

void clear(std::byte* out, std::size_t pixels, ChannelWidth /*width*/, float far) {
    std::fill_n(reinterpret_cast<std::uint64_t*>(out), pixels, background(far));
}

} // namespace

const BlendKernels nearest_kernels{
    ImageFormat::rgba8_depth, blend, begin, add_part, end, activity, clear};

} // namespace uzushio::compositing
