#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "staging/datamodel/array_view.hpp"

namespace uzushio::staging {

/// Order of a piece's values in a stream of bytes.
enum class ComponentOrder : std::uint8_t {
    interleaved = 1, ///< z, y, x, component
    planar = 2,      ///< component, z, y, x
};

/// Return the order in which a layout has the longer runs.
[[nodiscard]] constexpr ComponentOrder natural_order(const ArrayLayout& layout) {
    return layout.component_stride > layout.strides[2] ? ComponentOrder::planar
                                                       : ComponentOrder::interleaved;
}

/// Return the layout without gaps whose memory is in stream order.
[[nodiscard]] constexpr ArrayLayout stream_layout(const Extent& count, std::int64_t components,
                                                  std::int64_t scalar_bytes, ComponentOrder order) {
    return order == ComponentOrder::planar ? planar(count, scalar_bytes)
                                           : interleaved(count, components, scalar_bytes);
}

/// Contiguous bytes.
struct ByteRun {
    std::int64_t offset = 0; ///< from the first value of the array
    std::int64_t bytes = 0;  ///< 0: end
};

/// Iterator over the offsets of an array's contiguous runs in stream order. It can stop and resume
/// at any byte. The array may be in memory or in a file.
class RunIterator {
  public:
    RunIterator(const Extent& count, const ArrayLayout& layout, std::int64_t components,
                std::int64_t scalar_bytes, ComponentOrder order) {
        const Axis z{count[0], layout.strides[0]};
        const Axis y{count[1], layout.strides[1]};
        const Axis x{count[2], layout.strides[2]};
        const Axis c{components, layout.component_stride};
        const auto axes =
            order == ComponentOrder::planar ? std::array{c, z, y, x} : std::array{z, y, x, c};
        left_ = Box::of(count).volume() * components * scalar_bytes;
        run_ = scalar_bytes;
        for (std::size_t i = axes.size(); i-- > 0;) {
            if (axes[i].count == 1)
                continue;
            if (depth_ == 0 && axes[i].stride == run_)
                run_ *= axes[i].count;
            else
                axes_[depth_++] = axes[i];
        }
    }

    /// Return the next run, at most `max_bytes` of it; 0 bytes at the end.
    [[nodiscard]] ByteRun next(std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max()) {
        const std::int64_t length = std::min({run_ - within_, left_, max_bytes});
        if (length <= 0)
            return {};
        const ByteRun run{offset_ + within_, length};
        within_ += length;
        left_ -= length;
        if (within_ == run_) {
            within_ = 0;
            advance();
        }
        return run;
    }

    /// Remaining bytes.
    [[nodiscard]] std::int64_t left() const { return left_; }
    /// Bytes of a whole run. Short runs are better packed with `copy` than sent one by one.
    [[nodiscard]] std::int64_t run_bytes() const { return run_; }

  private:
    struct Axis {
        std::int64_t count = 1;
        std::int64_t stride = 0;
        std::int64_t index = 0;
    };

    void advance() {
        for (std::size_t i = 0; i < depth_; ++i) {
            Axis& axis = axes_[i];
            offset_ += axis.stride;
            if (++axis.index < axis.count)
                return;
            offset_ -= axis.index * axis.stride;
            axis.index = 0;
        }
    }

    std::array<Axis, 4> axes_{}; ///< innermost first
    std::size_t depth_ = 0;
    std::int64_t run_ = 0;
    std::int64_t within_ = 0;
    std::int64_t offset_ = 0;
    std::int64_t left_ = 0;
};

} // namespace uzushio::staging
