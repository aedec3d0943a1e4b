#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compositing/image.hpp"

namespace uzushio::compositing {

/// Gaps of background pixels that are shorter than this cost more as a run than as pixels.
inline constexpr int min_gap = 8;

/// Background pixels followed by active pixels.
struct PixelRun {
    std::uint32_t skip = 0;
    std::uint32_t count = 0;
};

/// Runs of a part of an image.
class RunList {
  public:
    explicit RunList(int pixels) { runs_.reserve(static_cast<std::size_t>(pixels) / 16 + 4); }

    void clear() {
        runs_.clear();
        end_ = 0;
    }
    /// Append the active pixels from `begin` to `end`; `begin` is not before the last end. With
    /// `bridge`, the gap before them is known to be background, and a gap shorter than `min_gap` is
    /// counted as active.
    void add(int begin, int end, bool bridge);

    [[nodiscard]] std::span<const PixelRun> get() const { return runs_; }
    /// Return whether the first `pixels` pixels are one run.
    [[nodiscard]] bool full(int pixels) const {
        return runs_.size() == 1 && runs_[0].skip == 0 &&
               runs_[0].count == static_cast<std::uint32_t>(pixels);
    }

  private:
    std::vector<PixelRun> runs_;
    int end_ = 0;
};

/// Find the active pixels of `image` at the positions `interval`, in groups of `group_pixels`.
void find_active_runs(const ImageShape& shape, const ImageView& image, Range interval,
                      RunList& runs);

} // namespace uzushio::compositing
