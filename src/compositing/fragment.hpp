#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compositing/run_list.hpp"

namespace uzushio::compositing {

/// Pixels of one layer at a range of positions. The memory is not owned.
struct Fragment {
    enum class Storage {
        dense,   ///< all pixels, contiguous
        packed,  ///< the active pixels only, contiguous
        in_place ///< a whole image, in its own order; the pixels of the runs are active
    };
    Range interval;
    Storage storage = Storage::dense;
    ChannelWidth width = ChannelWidth::narrow;
    const std::byte* pixels = nullptr;
    std::span<const PixelRun> runs;
};

/// Encoder of active pixels and runs as a message: either all pixels of its interval, or active
/// pixels, runs and a footer. The second form is always shorter, so the size identifies the form.
class FragmentEncoder {
  public:
    explicit FragmentEncoder(int max_pixels)
        : max_runs_(static_cast<std::size_t>(max_pixels) / 16 + 4) {
        runs_.reserve(max_runs_);
    }

    /// Begin a message of `pixels` pixels in memory with room for all of them.
    void start(const ImageShape& shape, int pixels, ChannelWidth width, std::byte* to);
    /// Append background pixels.
    void skip(int pixels) { skipped_ += pixels; }
    /// Append active pixels; return where to write them.
    std::byte* append(int pixels);
    /// End the message; return its size in bytes.
    std::size_t finish();

  private:
    void flush();

    std::vector<PixelRun> runs_;
    std::size_t max_runs_;
    const ImageShape* shape_ = nullptr;
    ChannelWidth width_ = ChannelWidth::narrow;
    std::byte* begin_ = nullptr;
    std::byte* end_ = nullptr;
    int pixels_ = 0;
    int skipped_ = 0;
};

/// Return the fragment that a message of `bytes` bytes about `interval` holds, a view of the
/// message. Throw `std::runtime_error` if the message is not valid.
[[nodiscard]] Fragment decode_fragment(const ImageShape& shape, Range interval,
                                       const std::byte* message, std::size_t bytes);

} // namespace uzushio::compositing
