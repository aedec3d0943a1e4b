#pragma once

#include <span>
#include <vector>

#include "compositing/runs.hpp"

namespace uzushio::compositing {

/// Reads the parts of one layer, which follow each other, from position to position.
class Cursor {
  public:
    Cursor(const Shape& shape, std::span<const Part> parts) : shape_(&shape), parts_(parts) {}

    struct Here {
        bool active = false;
        int until = 0; ///< the same holds, and memory is contiguous, up to this position
        Source source; ///< the pixels from here on, if active
    };
    /// What is at `position`, which is never before that of an earlier call.
    Here at(int position);

  private:
    void enter();

    const Shape* shape_;
    std::span<const Part> parts_;
    std::size_t next_part_ = 0;
    const Part* part_ = nullptr;
    std::size_t run_ = 0;
    int run_begin_ = 0; ///< position of the first active pixel of the run
    int run_end_ = 0;   ///< and behind its last one
    int packed_ = 0;    ///< active pixels of the part before the run
};

/// Takes the pixels of a result one after the other, background or active.
class Sink {
  public:
    virtual ~Sink() = default;
    virtual void skip(int position, int pixels) = 0;
    virtual std::byte* append(int position, int pixels) = 0;
    /// Up to where memory is contiguous from `position` on.
    [[nodiscard]] virtual int contiguous_until(int position) const = 0;
};

/// Into a message.
class MessageSink final : public Sink {
  public:
    explicit MessageSink(Encoder& encoder) : encoder_(encoder) {}
    void skip(int /*position*/, int pixels) override { encoder_.skip(pixels); }
    std::byte* append(int /*position*/, int pixels) override { return encoder_.append(pixels); }
    [[nodiscard]] int contiguous_until(int /*position*/) const override { return most; }

  private:
    static constexpr int most = 0x7fffffff;
    Encoder& encoder_;
};

/// Into memory: a whole image in its own order, or, with `packed`, the positions from `first` on
/// one after the other.
class MemorySink final : public Sink {
  public:
    MemorySink(const Shape& shape, std::byte* to, Width width = Width::narrow, bool packed = false,
               int first = 0)
        : shape_(shape), to_(to), width_(width), packed_(packed), first_(first) {}
    void skip(int position, int pixels) override {
        kernels(shape_.format)
            .clear(at(position), static_cast<std::size_t>(pixels), width_, shape_.far);
    }
    std::byte* append(int position, int /*pixels*/) override { return at(position); }
    [[nodiscard]] int contiguous_until(int position) const override {
        return packed_ ? shape_.pixels() : shape_.order.contiguous_until(position);
    }

  private:
    [[nodiscard]] std::byte* at(int position) const {
        const int index = packed_ ? position - first_ : shape_.order.index(position);
        return to_ + static_cast<std::size_t>(index) * shape_.bytes(width_);
    }

    const Shape& shape_;
    std::byte* to_;
    Width width_;
    bool packed_;
    int first_;
};

/// Combines layers, each of which covers the positions that are asked for.
class Merger {
  public:
    explicit Merger(std::size_t layers) { reserve(layers); }

    /// Make room for so many layers.
    void reserve(std::size_t layers) { sources_.reserve(layers); }

    /// Combine the positions `interval` of `layers`, front to back, into pixels of width `to`.
    /// Cursors go on from where they are. Tells the number of pixels that were read.
    std::size_t run(const Shape& shape, std::span<Cursor> layers, Range interval, Sink& sink,
                    Width to);

  private:
    int parts(const Shape& shape, std::span<Cursor> layers, Range interval, Sink& sink, Width to,
              std::size_t& read);

    std::vector<Source> sources_;
    Block block_{};
};

} // namespace uzushio::compositing
