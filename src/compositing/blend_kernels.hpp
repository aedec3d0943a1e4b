#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compositing/pixel.hpp"

namespace uzushio::compositing {

/// Contiguous pixels of one layer.
struct LayerPixels {
    const std::byte* pixels = nullptr;
    ChannelWidth width = ChannelWidth::narrow;
};

/// Number of pixels whose activity is tested together.
inline constexpr std::size_t group_pixels = 8;

/// Accumulators of a block of pixels whose layers cover parts of the block. Their layout is private
/// to each kernel.
struct BlendBlock {
    static constexpr std::size_t pixels = 512;
    alignas(64) std::byte memory[32 * pixels];
};

/// Arithmetic of one pixel format: plain loops without ranks, runs or messages.
/// `far` is the depth of the background, used by ImageFormat::rgba8_depth only.
struct BlendKernels {
    ImageFormat format;

    /// Combine `pixels` pixels of the layers, front to back, into `out` of width `to`. Every layer
    /// is read once and `out` is written once. `out` may be one of the layers if it has the same
    /// width.
    void (*blend)(std::span<const LayerPixels> layers, std::size_t pixels, std::byte* out,
                  ChannelWidth to, float far);

    // The same for layers that cover parts of a block.

    /// Initialise the first `pixels` pixels of the block.
    void (*begin)(BlendBlock& block, std::size_t pixels, float far);
    /// Add `pixels` pixels of the next layer, front to back, from pixel `at` of the block on.
    void (*add)(BlendBlock& block, std::size_t at, const LayerPixels& layer, std::size_t pixels);
    /// Write `pixels` pixels from pixel `at` of the block on.
    void (*end)(const BlendBlock& block, std::size_t at, std::size_t pixels, std::byte* out,
                ChannelWidth to);

    /// Set `active` of each group of `group_pixels` pixels: whether any differs from background.
    void (*activity)(const std::byte* pixels, std::size_t groups, ChannelWidth width, float far,
                     std::uint8_t* active);

    /// Fill with background.
    void (*clear)(std::byte* out, std::size_t pixels, ChannelWidth width, float far);
};

extern const BlendKernels over8_kernels;
extern const BlendKernels over_float_kernels;
extern const BlendKernels nearest_kernels;

[[nodiscard]] inline const BlendKernels& blend_kernels(ImageFormat format) {
    switch (format) {
    case ImageFormat::rgba_float:
        return over_float_kernels;
    case ImageFormat::rgba8_depth:
        return nearest_kernels;
    case ImageFormat::rgba8:
        break;
    }
    return over8_kernels;
}

/// Blend two layers of 8 bits a channel, rounded to the nearest.
void over(std::span<const Rgba8> front, std::span<const Rgba8> back, std::span<Rgba8> out);

} // namespace uzushio::compositing
