#pragma once

#include <limits>
#include <span>
#include <vector>

#include "compositing/blend_kernels.hpp"
#include "compositing/fragment.hpp"

namespace uzushio::compositing {

/// Reader of the consecutive fragments of one layer, from position to position.
class LayerCursor {
  public:
    LayerCursor(const ImageShape& shape, std::span<const Fragment> fragments)
        : shape_(&shape), fragments_(fragments) {}

    /// Positions that are all active, and contiguous in memory, or all background.
    struct LayerSpan {
        bool active = false;
        int until = 0;      ///< end of the positions
        LayerPixels pixels; ///< from the requested position on, if active
    };
    /// Return the span from `position` on, which is never before that of an earlier call.
    LayerSpan at(int position);

  private:
    void enter_fragment();

    const ImageShape* shape_;
    std::span<const Fragment> fragments_;
    std::size_t next_fragment_ = 0;
    const Fragment* fragment_ = nullptr;
    std::size_t run_ = 0;
    int run_begin_ = 0; ///< position of the first active pixel of the run
    int run_end_ = 0;   ///< position after the last active pixel of the run
    int packed_ = 0;    ///< active pixels of the fragment before the run
};

/// Destination of the pixels of a result, in order of position.
class PixelSink {
  public:
    virtual ~PixelSink() = default;
    /// Write background.
    virtual void skip(int position, int pixels) = 0;
    /// Return where to write active pixels.
    virtual std::byte* append(int position, int pixels) = 0;
    /// Return the end of the positions from `position` on that are contiguous in memory.
    [[nodiscard]] virtual int contiguous_until(int position) const = 0;
};

/// Sink that encodes a message.
class MessageSink final : public PixelSink {
  public:
    explicit MessageSink(FragmentEncoder& encoder) : encoder_(encoder) {}
    void skip(int /*position*/, int pixels) override { encoder_.skip(pixels); }
    std::byte* append(int /*position*/, int pixels) override { return encoder_.append(pixels); }
    [[nodiscard]] int contiguous_until(int /*position*/) const override {
        return std::numeric_limits<int>::max();
    }

  private:
    FragmentEncoder& encoder_;
};

/// Sink in memory: a whole image in its own order or, with `packed`, contiguous positions from
/// `first` on.
class MemorySink final : public PixelSink {
  public:
    MemorySink(const ImageShape& shape, std::byte* to, ChannelWidth width = ChannelWidth::narrow,
               bool packed = false, int first = 0)
        : shape_(shape), to_(to), width_(width), packed_(packed), first_(first) {}
    void skip(int position, int pixels) override {
        blend_kernels(shape_.format)
            .clear(at(position), static_cast<std::size_t>(pixels), width_, shape_.far);
    }
    std::byte* append(int position, int /*pixels*/) override { return at(position); }
    [[nodiscard]] int contiguous_until(int position) const override {
        return packed_ ? shape_.pixels() : shape_.interlacing.contiguous_until(position);
    }

  private:
    [[nodiscard]] std::byte* at(int position) const {
        const int index = packed_ ? position - first_ : shape_.interlacing.index(position);
        return to_ + static_cast<std::size_t>(index) * shape_.bytes(width_);
    }

    const ImageShape& shape_;
    std::byte* to_;
    ChannelWidth width_;
    bool packed_;
    int first_;
};

/// Merge of layers that each cover the requested positions.
class LayerMerger {
  public:
    explicit LayerMerger(std::size_t layers) { reserve(layers); }

    /// Reserve memory for a number of layers.
    void reserve(std::size_t layers) { active_layers_.reserve(layers); }

    /// Combine the positions `interval` of `layers`, front to back, into pixels of width `to`. The
    /// cursors continue from their positions.
    void run(const ImageShape& shape, std::span<LayerCursor> layers, Range interval,
             PixelSink& sink, ChannelWidth to);

  private:
    int merge_block(const ImageShape& shape, std::span<LayerCursor> layers, Range interval,
                    PixelSink& sink, ChannelWidth to);

    std::vector<LayerPixels> active_layers_;
    BlendBlock block_{};
};

} // namespace uzushio::compositing
