#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compositing/image.hpp"

namespace uzushio::compositing {

/// Background pixels, then active ones.
struct Run {
    std::uint32_t skip = 0;
    std::uint32_t count = 0;
};

/// Runs of one part of an image.
class RunList {
  public:
    explicit RunList(int pixels) { runs_.reserve(static_cast<std::size_t>(pixels) / 16 + 4); }

    void start() {
        runs_.clear();
        end_ = 0;
    }
    /// Note that the pixels from `begin`, not before those noted, to `end` are active. With `join`,
    /// a short gap before them is background, and may be counted among them.
    void add(int begin, int end, bool join);

    [[nodiscard]] std::span<const Run> get() const { return runs_; }
    /// Whether the first `pixels` pixels are one run.
    [[nodiscard]] bool full(int pixels) const {
        return runs_.size() == 1 && runs_[0].skip == 0 &&
               runs_[0].count == static_cast<std::uint32_t>(pixels);
    }

  private:
    std::vector<Run> runs_;
    int end_ = 0;
};

/// Find the active pixels of `picture` in the positions `interval`, in groups of `group_pixels`.
void scan(const Shape& shape, const Picture& picture, Range interval, RunList& runs);

/// Pixels of some positions of one layer, in one of three forms. Memory belongs to others.
struct Part {
    enum class Kind {
        dense,   ///< every pixel, one after the other
        packed,  ///< active pixels alone, one after the other
        in_place ///< pixels where they are in an image, of which the runs are active
    };
    Range interval;
    Kind kind = Kind::dense;
    Width width = Width::narrow;
    const std::byte* pixels = nullptr;
    std::span<const Run> runs;
};

/// Writes active pixels and runs as a message: either every pixel of its interval, which has just
/// that size, or active pixels, runs and a trailer, which are always fewer bytes, and of which the
/// size tells that they are.
class Encoder {
  public:
    explicit Encoder(int most_pixels) : most_(static_cast<std::size_t>(most_pixels) / 16 + 4) {
        runs_.reserve(most_);
    }

    /// Begin a message of `pixels` pixels in memory that has room for all of them.
    void start(const Shape& shape, int pixels, Width width, std::byte* to);
    /// The next pixels are background.
    void skip(int pixels) { skipped_ += pixels; }
    /// The next pixels are active: write them where this says.
    std::byte* append(int pixels);
    /// End the message and tell its size in bytes.
    std::size_t finish();

  private:
    void flush();

    std::vector<Run> runs_;
    std::size_t most_;
    const Shape* shape_ = nullptr;
    Width width_ = Width::narrow;
    std::byte* begin_ = nullptr;
    std::byte* end_ = nullptr;
    int pixels_ = 0;
    int skipped_ = 0;
};

/// The part that a message of `bytes` bytes about `interval` holds; it stays in the message.
/// Throws `std::runtime_error` if the message is none.
[[nodiscard]] Part decode(const Shape& shape, Range interval, const std::byte* message,
                          std::size_t bytes);

} // namespace uzushio::compositing
