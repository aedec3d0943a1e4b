#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

namespace uzushio::compositing {

/// Order of an image's pixels in which every contiguous part is spread over the whole image, so
/// that parts of equal size have about equal numbers of active pixels. Blocks of pixels are visited
/// with a stride near the golden section of their number: its multiples, modulo that number, are
/// evenly distributed for any number of blocks. With `block` 0 the order is that of the image.
class PixelInterlacing {
  public:
    PixelInterlacing() = default;
    PixelInterlacing(int pixels, int block) : block_(block) {
        if (block <= 0)
            return;
        blocks_ = pixels / block;
        stride_ = std::max(1, static_cast<int>(0.6180339887498949 * blocks_));
        while (std::gcd(stride_, std::max(1, blocks_)) != 1)
            ++stride_;
    }

    /// Return whether the order is that of the image.
    [[nodiscard]] bool none() const { return blocks_ < 2; }

    /// Return the index in the image of the pixel at `position` of the order.
    [[nodiscard]] int index(int position) const {
        if (none() || position >= blocks_ * block_)
            return position;
        const long long block = position / block_;
        return static_cast<int>(block * stride_ % blocks_) * block_ + position % block_;
    }

    /// Return the end of the positions from `position` on that are contiguous in the image.
    [[nodiscard]] int contiguous_until(int position) const {
        if (none() || position >= blocks_ * block_)
            return std::numeric_limits<int>::max();
        return (position / block_ + 1) * block_;
    }

  private:
    int block_ = 0;
    int blocks_ = 0;
    int stride_ = 1;
};

} // namespace uzushio::compositing
