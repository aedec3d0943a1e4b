#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>

#include "compositing/blend_kernels.hpp"

namespace uzushio::compositing {

namespace {

// Pixels that are blended together: the sums of a block stay in cache while layers are added, and
// loops of constant length are vectorised without a remainder.
constexpr std::size_t block = BlendBlock::pixels;
constexpr std::size_t cache_line = 64;

/// Sums of one block, channel by channel, in units of 1/255, and the transparency that is left, in
/// [0, 1].
struct Sums {
    alignas(64) float r[block];
    alignas(64) float g[block];
    alignas(64) float b[block];
    alignas(64) float transparency[block];
};
static_assert(sizeof(Sums) <= sizeof(BlendBlock));

static_assert(std::endian::native == std::endian::little, "a channel is found by shifting");

constexpr float byte_opacity = 1.0F / 255;
constexpr float word_opacity = 1.0F / 65535;
constexpr float word_to_byte = 1.0F / 257;

// A loop that is inlined with a constant length is vectorised without a remainder.
#define UZUSHIO_INLINE [[gnu::always_inline]] inline

UZUSHIO_INLINE void start(Sums& sums, const std::uint32_t* pixels) {
    for (std::size_t i = 0; i < block; ++i) {
        const std::uint32_t c = pixels[i];
        sums.r[i] = static_cast<float>(static_cast<std::int32_t>(c & 255));
        sums.g[i] = static_cast<float>(static_cast<std::int32_t>(c >> 8 & 255));
        sums.b[i] = static_cast<float>(static_cast<std::int32_t>(c >> 16 & 255));
        sums.transparency[i] =
            1 - byte_opacity * static_cast<float>(static_cast<std::int32_t>(c >> 24));
    }
}

UZUSHIO_INLINE void add(Sums& sums, std::size_t at, const std::uint32_t* pixels,
                        std::size_t count) {
    float* const r = sums.r + at;
    float* const g = sums.g + at;
    float* const b = sums.b + at;
    float* const transparency = sums.transparency + at;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t c = pixels[i];
        const float left = transparency[i];
        r[i] += left * static_cast<float>(static_cast<std::int32_t>(c & 255));
        g[i] += left * static_cast<float>(static_cast<std::int32_t>(c >> 8 & 255));
        b[i] += left * static_cast<float>(static_cast<std::int32_t>(c >> 16 & 255));
        transparency[i] =
            left - left * byte_opacity * static_cast<float>(static_cast<std::int32_t>(c >> 24));
    }
}

UZUSHIO_INLINE void start(Sums& sums, const std::uint64_t* pixels) {
    for (std::size_t i = 0; i < block; ++i) {
        const auto low = static_cast<std::uint32_t>(pixels[i]);
        const auto high = static_cast<std::uint32_t>(pixels[i] >> 32);
        sums.r[i] = word_to_byte * static_cast<float>(static_cast<std::int32_t>(low & 65535));
        sums.g[i] = word_to_byte * static_cast<float>(static_cast<std::int32_t>(low >> 16));
        sums.b[i] = word_to_byte * static_cast<float>(static_cast<std::int32_t>(high & 65535));
        sums.transparency[i] =
            1 - word_opacity * static_cast<float>(static_cast<std::int32_t>(high >> 16));
    }
}

UZUSHIO_INLINE void add(Sums& sums, std::size_t at, const std::uint64_t* pixels,
                        std::size_t count) {
    float* const r = sums.r + at;
    float* const g = sums.g + at;
    float* const b = sums.b + at;
    float* const transparency = sums.transparency + at;
    for (std::size_t i = 0; i < count; ++i) {
        const auto low = static_cast<std::uint32_t>(pixels[i]);
        const auto high = static_cast<std::uint32_t>(pixels[i] >> 32);
        const float left = transparency[i];
        const float scale = left * word_to_byte;
        r[i] += scale * static_cast<float>(static_cast<std::int32_t>(low & 65535));
        g[i] += scale * static_cast<float>(static_cast<std::int32_t>(low >> 16));
        b[i] += scale * static_cast<float>(static_cast<std::int32_t>(high & 65535));
        transparency[i] =
            left - left * word_opacity * static_cast<float>(static_cast<std::int32_t>(high >> 16));
    }
}

/// Round, and clamp to `max`: a sum of premultiplied colours may exceed it.
std::uint32_t rounded(float value, float max) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::min(value, max) + 0.5F));
}

UZUSHIO_INLINE void finish(const Sums& sums, std::size_t at, std::uint32_t* out,
                           std::size_t count) {
    const float* const r = sums.r + at;
    const float* const g = sums.g + at;
    const float* const b = sums.b + at;
    const float* const transparency = sums.transparency + at;
    for (std::size_t i = 0; i < count; ++i)
        out[i] = rounded(r[i], 255) | rounded(g[i], 255) << 8 | rounded(b[i], 255) << 16 |
                 rounded(255 - 255 * transparency[i], 255) << 24;
}

UZUSHIO_INLINE void finish(const Sums& sums, std::size_t at, std::uint64_t* out,
                           std::size_t count) {
    const float* const r = sums.r + at;
    const float* const g = sums.g + at;
    const float* const b = sums.b + at;
    const float* const transparency = sums.transparency + at;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t low = rounded(257 * r[i], 65535) | rounded(257 * g[i], 65535) << 16;
        const std::uint32_t high =
            rounded(257 * b[i], 65535) | rounded(65535 - 65535 * transparency[i], 65535) << 16;
        out[i] = low | std::uint64_t{high} << 32;
    }
}

template <class Word> const Word* words(const std::byte* pixels) {
    return reinterpret_cast<const Word*>(pixels);
}

/// Call `step(pixels)` on a block of a layer, or on a zero-padded copy where fewer pixels are left.
///
/// The hardware prefetcher follows fewer streams than there are layers, so the next block of this
/// layer is prefetched here.
template <class Word, class Step>
void on_block(const LayerPixels& layer, std::size_t from, std::size_t count, Step&& step) {
    const std::byte* const first = layer.pixels + from * sizeof(Word);
    if (count == block) {
        for (std::size_t ahead = 0; ahead < block * sizeof(Word); ahead += cache_line)
            __builtin_prefetch(first + block * sizeof(Word) + ahead);
        return step(words<Word>(first));
    }
    Word rest[block] = {};
    std::memcpy(rest, first, count * sizeof(Word));
    step(rest);
}

template <class Word> void finish(const Sums& sums, std::byte* out, std::size_t count) {
    if (count == block)
        return finish(sums, 0, reinterpret_cast<Word*>(out), block);
    finish(sums, 0, reinterpret_cast<Word*>(out), count);
}

void blend(std::span<const LayerPixels> layers, std::size_t pixels, std::byte* out, ChannelWidth to,
           float /*far*/) {
    if (layers.size() == 1 && layers[0].width == to) {
        if (out != layers[0].pixels)
            std::memmove(out, layers[0].pixels, pixels * pixel_bytes(ImageFormat::rgba8, to));
        return;
    }
    if (layers.size() == 2 && to == ChannelWidth::narrow && layers[0].width == to &&
        layers[1].width == to) {
        const auto view = [&](const std::byte* first) {
            return std::span(reinterpret_cast<const Rgba8*>(first), pixels);
        };
        over(view(layers[0].pixels), view(layers[1].pixels),
             {reinterpret_cast<Rgba8*>(out), pixels});
        return;
    }
    Sums sums;
    for (std::size_t from = 0; from < pixels; from += block) {
        const std::size_t count = std::min(block, pixels - from);
        for (std::size_t l = 0; l < layers.size(); ++l) {
            const auto step = [&](const auto* block_pixels) {
                l == 0 ? start(sums, block_pixels) : add(sums, 0, block_pixels, block);
            };
            if (layers[l].width == ChannelWidth::narrow)
                on_block<std::uint32_t>(layers[l], from, count, step);
            else
                on_block<std::uint64_t>(layers[l], from, count, step);
        }
        if (to == ChannelWidth::narrow)
            finish<std::uint32_t>(sums, out + from * sizeof(std::uint32_t), count);
        else
            finish<std::uint64_t>(sums, out + from * sizeof(std::uint64_t), count);
    }
}

Sums& sums_of(BlendBlock& in) { return *reinterpret_cast<Sums*>(in.memory); }
const Sums& sums_of(const BlendBlock& in) { return *reinterpret_cast<const Sums*>(in.memory); }

void begin(BlendBlock& in, std::size_t pixels, float /*far*/) {
    auto& sums = sums_of(in);
    for (float* channel : {sums.r, sums.g, sums.b})
        std::fill_n(channel, pixels, 0.0F);
    std::fill_n(sums.transparency, pixels, 1.0F);
}

void add_part(BlendBlock& in, std::size_t at, const LayerPixels& layer, std::size_t pixels) {
    if (layer.width == ChannelWidth::narrow)
        add(sums_of(in), at, words<std::uint32_t>(layer.pixels), pixels);
    else
        add(sums_of(in), at, words<std::uint64_t>(layer.pixels), pixels);
}

void end(const BlendBlock& in, std::size_t at, std::size_t pixels, std::byte* out,
         ChannelWidth to) {
    if (to == ChannelWidth::narrow)
        finish(sums_of(in), at, reinterpret_cast<std::uint32_t*>(out), pixels);
    else
        finish(sums_of(in), at, reinterpret_cast<std::uint64_t*>(out), pixels);
}

template <class Word>
void any_set(const std::byte* pixels, std::size_t groups, std::uint8_t* active) {
    const auto* const all = words<Word>(pixels);
    for (std::size_t g = 0; g < groups; ++g) {
        Word any = 0;
        for (std::size_t i = 0; i < group_pixels; ++i)
            any |= all[group_pixels * g + i];
        active[g] = any != 0;
    }
}

void activity(const std::byte* pixels, std::size_t groups, ChannelWidth width, float /*far*/,
              std::uint8_t* active) {
    if (width == ChannelWidth::narrow)
        any_set<std::uint32_t>(pixels, groups, active);
    else
        any_set<std::uint64_t>(pixels, groups, active);
}

void clear(std::byte* out, std::size_t pixels, ChannelWidth width, float /*far*/) {
    std::memset(out, 0, pixels * pixel_bytes(ImageFormat::rgba8, width));
}

} // namespace

const BlendKernels over8_kernels{ImageFormat::rgba8, blend, begin, add_part, end, activity, clear};

void over(std::span<const Rgba8> front, std::span<const Rgba8> back, std::span<Rgba8> out) {
    assert(front.size() == back.size() && front.size() == out.size());
    // Two channels at a time, 16 bits each: t/255 rounded is (t + 128 + (t + 128 >> 8)) >> 8.
    const auto scaled = [](std::uint32_t pair, std::uint32_t by) {
        const std::uint32_t t = pair * by + 0x00800080U;
        return (t + (t >> 8 & 0x00ff00ffU)) >> 8 & 0x00ff00ffU;
    };
    const auto* const f = reinterpret_cast<const std::uint32_t*>(front.data());
    const auto* const b = reinterpret_cast<const std::uint32_t*>(back.data());
    auto* const to = reinterpret_cast<std::uint32_t*>(out.data());
    const std::size_t size = front.size();
    for (std::size_t i = 0; i < size; ++i) {
        const std::uint32_t transparency = 255 - (f[i] >> 24);
        const std::uint32_t even = (f[i] & 0x00ff00ffU) + scaled(b[i] & 0x00ff00ffU, transparency);
        const std::uint32_t odd =
            (f[i] >> 8 & 0x00ff00ffU) + scaled(b[i] >> 8 & 0x00ff00ffU, transparency);
        // Colours that exceed their opacity may overflow: 256 and more become 255.
        const auto capped = [](std::uint32_t pair) {
            const std::uint32_t carry = pair >> 8 & 0x00010001U;
            return (pair | ((carry << 8) - carry)) & 0x00ff00ffU;
        };
        to[i] = capped(even) | capped(odd) << 8;
    }
}

} // namespace uzushio::compositing
