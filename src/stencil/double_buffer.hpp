#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel/aligned_array.hpp"
#include "stencil/rect.hpp"

namespace uzushio::stencil {

/// Two buffers of a sweep over the same rectangle of points, in row-major order.
class DoubleBuffer {
  public:
    /// Align points x = `aligned` to cache lines.
    DoubleBuffer(const Rect& box, int aligned)
        : box_(box), lead_((8 - (aligned - box.x.begin) % 8) % 8),
          stride_(padded(lead_ + box.x.size())),
          data_(2 * static_cast<std::size_t>(stride_ * box.y.size())) {}

    [[nodiscard]] const Rect& box() const { return box_; }
    [[nodiscard]] std::ptrdiff_t stride() const { return stride_; }
    [[nodiscard]] std::size_t bytes() const { return data_.bytes(); }

    /// Return row y of a buffer, indexed by global x.
    [[nodiscard]] double* row(int buffer, int y) {
        return data_.data() +
               (std::ptrdiff_t{buffer} * box_.y.size() + (y - box_.y.begin)) * stride_ + lead_ -
               box_.x.begin;
    }

  private:
    /// Round up to whole cache lines; avoid multiples of 4 KiB, which map rows to the same sets.
    static std::ptrdiff_t padded(std::ptrdiff_t width) {
        std::ptrdiff_t stride = (width + 7) / 8 * 8;
        if (stride % 512 == 0)
            stride += 8;
        return stride;
    }

    Rect box_;
    int lead_;
    std::ptrdiff_t stride_;
    parallel::AlignedArray<double> data_;
};

} // namespace uzushio::stencil
