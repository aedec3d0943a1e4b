#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compositing/pixel.hpp"

namespace uzushio::compositing {

/// Pixels of one layer, in one piece of memory.
struct Source {
    const std::byte* pixels = nullptr;
    Width width = Width::narrow;
};

/// Pixels are looked at for activity in groups of so many.
inline constexpr std::size_t group_pixels = 8;

/// Sums of some pixels, of which layers may cover parts only. What is inside is the kernels' own.
struct Block {
    static constexpr std::size_t pixels = 512;
    alignas(64) std::byte memory[32 * pixels];
};

/// The arithmetic of one pixel format: plain loops that know nothing of ranks, runs or messages.
/// `far` is the depth of the background, which is used by Format::rgba8_depth alone.
struct Kernels {
    Format format;

    /// Combine `pixels` pixels of the layers, front to back, into `out` of width `to`. All layers
    /// are read once and `out` is written once, whatever their number; `out` may be one of the
    /// layers when it has its width.
    void (*blend)(std::span<const Source> layers, std::size_t pixels, std::byte* out, Width to,
                  float far);

    /// The same for layers of which each covers parts of a block: `begin` the first `pixels` of it,
    /// `add` what each layer has of them, front to back, from the block's pixel `at` on, and `end`
    /// with the pixels that are wanted.
    void (*begin)(Block& block, std::size_t pixels, float far);
    void (*add)(Block& block, std::size_t at, const Source& layer, std::size_t pixels);
    void (*end)(const Block& block, std::size_t at, std::size_t pixels, std::byte* out, Width to);

    /// For each group of `group_pixels` pixels, whether any is other than background.
    void (*activity)(const std::byte* pixels, std::size_t groups, Width width, float far,
                     std::uint8_t* active);

    /// Fill with background.
    void (*clear)(std::byte* out, std::size_t pixels, Width width, float far);
};

[[nodiscard]] const Kernels& kernels(Format format);

/// What two pixels give under `over`: 8 bits, each channel rounded to the nearest.
void over(std::span<const Rgba8> front, std::span<const Rgba8> back, std::span<Rgba8> out);

} // namespace uzushio::compositing
