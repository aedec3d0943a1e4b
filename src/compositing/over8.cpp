#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>

#include "compositing/kernel_table.hpp"

namespace uzushio::compositing {

namespace {

// Pixels that are blended at a time: sums of a block stay in cache while layer by layer is added,
// and loops of constant length are vectorised without a remainder.
constexpr std::size_t block = Block::pixels;
constexpr std::size_t cache_line = 64;

/// Sums of one block, channel by channel, in units of 1/255; `clear` is what still shines through.
struct Sums {
    alignas(64) float r[block];
    alignas(64) float g[block];
    alignas(64) float b[block];
    alignas(64) float clear[block];
};
static_assert(sizeof(Sums) <= sizeof(Block));

static_assert(std::endian::native == std::endian::little, "a channel is found by shifting");

constexpr float byte_opacity = 1.0F / 255;
constexpr float word_opacity = 1.0F / 65535;
constexpr float word_to_byte = 1.0F / 257;

// Loops of a length that is known where they are called are vectorised without a remainder.
#define UZUSHIO_INLINE [[gnu::always_inline]] inline

UZUSHIO_INLINE void start(Sums& sums, const std::uint32_t* pixels) {
    for (std::size_t i = 0; i < block; ++i) {
        const std::uint32_t c = pixels[i];
        sums.r[i] = static_cast<float>(static_cast<std::int32_t>(c & 255));
        sums.g[i] = static_cast<float>(static_cast<std::int32_t>(c >> 8 & 255));
        sums.b[i] = static_cast<float>(static_cast<std::int32_t>(c >> 16 & 255));
        sums.clear[i] = 1 - byte_opacity * static_cast<float>(static_cast<std::int32_t>(c >> 24));
    }
}

UZUSHIO_INLINE void add(Sums& sums, std::size_t at, const std::uint32_t* pixels,
                        std::size_t count) {
    float* const r = sums.r + at;
    float* const g = sums.g + at;
    float* const b = sums.b + at;
    float* const clear = sums.clear + at;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t c = pixels[i];
        const float left = clear[i];
        r[i] += left * static_cast<float>(static_cast<std::int32_t>(c & 255));
        g[i] += left * static_cast<float>(static_cast<std::int32_t>(c >> 8 & 255));
        b[i] += left * static_cast<float>(static_cast<std::int32_t>(c >> 16 & 255));
        clear[i] =
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
        sums.clear[i] =
            1 - word_opacity * static_cast<float>(static_cast<std::int32_t>(high >> 16));
    }
}

UZUSHIO_INLINE void add(Sums& sums, std::size_t at, const std::uint64_t* pixels,
                        std::size_t count) {
    float* const r = sums.r + at;
    float* const g = sums.g + at;
    float* const b = sums.b + at;
    float* const clear = sums.clear + at;
    for (std::size_t i = 0; i < count; ++i) {
        const auto low = static_cast<std::uint32_t>(pixels[i]);
        const auto high = static_cast<std::uint32_t>(pixels[i] >> 32);
        const float left = clear[i];
        const float scale = left * word_to_byte;
        r[i] += scale * static_cast<float>(static_cast<std::int32_t>(low & 65535));
        g[i] += scale * static_cast<float>(static_cast<std::int32_t>(low >> 16));
        b[i] += scale * static_cast<float>(static_cast<std::int32_t>(high & 65535));
        clear[i] =
            left - left * word_opacity * static_cast<float>(static_cast<std::int32_t>(high >> 16));
    }
}

/// Premultiplied colour may exceed its opacity, but not the largest value.
std::uint32_t rounded(float value, float most) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::min(value, most) + 0.5F));
}

UZUSHIO_INLINE void finish(const Sums& sums, std::size_t at, std::uint32_t* out,
                           std::size_t count) {
    const float* const r = sums.r + at;
    const float* const g = sums.g + at;
    const float* const b = sums.b + at;
    const float* const clear = sums.clear + at;
    for (std::size_t i = 0; i < count; ++i)
        out[i] = rounded(r[i], 255) | rounded(g[i], 255) << 8 | rounded(b[i], 255) << 16 |
                 rounded(255 - 255 * clear[i], 255) << 24;
}

UZUSHIO_INLINE void finish(const Sums& sums, std::size_t at, std::uint64_t* out,
                           std::size_t count) {
    const float* const r = sums.r + at;
    const float* const g = sums.g + at;
    const float* const b = sums.b + at;
    const float* const clear = sums.clear + at;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t low = rounded(257 * r[i], 65535) | rounded(257 * g[i], 65535) << 16;
        const std::uint32_t high =
            rounded(257 * b[i], 65535) | rounded(65535 - 65535 * clear[i], 65535) << 16;
        out[i] = low | std::uint64_t{high} << 32;
    }
}

template <class Word> const Word* words(const std::byte* pixels) {
    return reinterpret_cast<const Word*>(pixels);
}

/// `step(pixels)` on a layer's block, or on a copy of it where fewer pixels are left.
///
/// Many layers are more streams than the processor follows by itself, so the next block of this one
/// is asked for while the layers after it are added.
template <class Word, class Step>
void on_block(const Source& layer, std::size_t from, std::size_t count, Step&& step) {
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

void blend(std::span<const Source> layers, std::size_t pixels, std::byte* out, Width to,
           float /*far*/) {
    if (layers.size() == 1 && layers[0].width == to) {
        if (out != layers[0].pixels)
            std::memmove(out, layers[0].pixels, pixels * pixel_bytes(Format::rgba8, to));
        return;
    }
    if (layers.size() == 2 && to == Width::narrow && layers[0].width == to &&
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
            if (layers[l].width == Width::narrow)
                on_block<std::uint32_t>(layers[l], from, count, step);
            else
                on_block<std::uint64_t>(layers[l], from, count, step);
        }
        if (to == Width::narrow)
            finish<std::uint32_t>(sums, out + from * sizeof(std::uint32_t), count);
        else
            finish<std::uint64_t>(sums, out + from * sizeof(std::uint64_t), count);
    }
}

Sums& sums_of(Block& in) { return *reinterpret_cast<Sums*>(in.memory); }
const Sums& sums_of(const Block& in) { return *reinterpret_cast<const Sums*>(in.memory); }

void begin(Block& in, std::size_t pixels, float /*far*/) {
    auto& sums = sums_of(in);
    for (float* channel : {sums.r, sums.g, sums.b})
        std::fill_n(channel, pixels, 0.0F);
    std::fill_n(sums.clear, pixels, 1.0F);
}

void add_part(Block& in, std::size_t at, const Source& layer, std::size_t pixels) {
    if (layer.width == Width::narrow)
        add(sums_of(in), at, words<std::uint32_t>(layer.pixels), pixels);
    else
        add(sums_of(in), at, words<std::uint64_t>(layer.pixels), pixels);
}

void end(const Block& in, std::size_t at, std::size_t pixels, std::byte* out, Width to) {
    if (to == Width::narrow)
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

void activity(const std::byte* pixels, std::size_t groups, Width width, float /*far*/,
              std::uint8_t* active) {
    if (width == Width::narrow)
        any_set<std::uint32_t>(pixels, groups, active);
    else
        any_set<std::uint64_t>(pixels, groups, active);
}

void clear(std::byte* out, std::size_t pixels, Width width, float /*far*/) {
    std::memset(out, 0, pixels * pixel_bytes(Format::rgba8, width));
}

} // namespace

const Kernels over8_kernels{Format::rgba8, blend, begin, add_part, end, activity, clear};

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
        const std::uint32_t clear = 255 - (f[i] >> 24);
        const std::uint32_t even = (f[i] & 0x00ff00ffU) + scaled(b[i] & 0x00ff00ffU, clear);
        const std::uint32_t odd =
            (f[i] >> 8 & 0x00ff00ffU) + scaled(b[i] >> 8 & 0x00ff00ffU, clear);
        // Colours brighter than their opacity may overflow: 256 and more become 255.
        const auto capped = [](std::uint32_t pair) {
            const std::uint32_t carry = pair >> 8 & 0x00010001U;
            return (pair | ((carry << 8) - carry)) & 0x00ff00ffU;
        };
        to[i] = capped(even) | capped(odd) << 8;
    }
}

} // namespace uzushio::compositing
