#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

namespace uzushio::compositing {

/// An order of an image's pixels in which every contiguous part is spread over the whole image, so
/// that ranks that own parts of equal size own about as many active pixels. Blocks of pixels are
/// taken with a stride near the golden section of their number: multiples of it fill a circle
/// evenly however many there are. With `block` 0 pixels keep their order.
class Interlace {
  public:
    Interlace() = default;
    Interlace(int pixels, int block) : block_(block) {
        if (block <= 0)
            return;
        blocks_ = pixels / block;
        step_ = std::max(1, static_cast<int>(0.6180339887498949 * blocks_));
        while (std::gcd(step_, std::max(1, blocks_)) != 1)
            ++step_;
    }

    /// Whether pixels keep their order.
    [[nodiscard]] bool none() const { return blocks_ < 2; }

    /// Index in the image of the pixel at `position` of the order.
    [[nodiscard]] int index(int position) const {
        if (none() || position >= blocks_ * block_)
            return position;
        const long long block = position / block_;
        return static_cast<int>(block * step_ % blocks_) * block_ + position % block_;
    }

    /// End of the positions from `position` on that lie one after the other in the image.
    [[nodiscard]] int contiguous_until(int position) const {
        if (none() || position >= blocks_ * block_)
            return std::numeric_limits<int>::max();
        return (position / block_ + 1) * block_;
    }

  private:
    int block_ = 0;
    int blocks_ = 0;
    int step_ = 1;
};

} // namespace uzushio::compositing
