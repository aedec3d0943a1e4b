#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "staging/datamodel/array_view.hpp"

namespace uzushio::staging {

/// In which order the values of a piece follow each other in a stream of bytes.
enum class Order : std::uint8_t {
    interleaved = 1, ///< z, y, x, component
    planar = 2,      ///< component, z, y, x
};

/// The order in which a layout has the longer runs.
[[nodiscard]] constexpr Order natural_order(const Layout& layout) {
    return layout.component_stride > layout.strides[2] ? Order::planar : Order::interleaved;
}

/// Bytes one after the other.
struct Run {
    std::int64_t offset = 0; ///< from the first value of the array
    std::int64_t bytes = 0;  ///< 0: there is none
};

/// Walks through the places of an array's values in the order of a stream, one contiguous run after
/// the other. It stops and goes on anywhere, also within a value. Knows no memory: the array may be
/// in a file.
class RunWalk {
  public:
    RunWalk(const Extent& count, const Layout& layout, std::int64_t components,
            std::int64_t scalar_bytes, Order order) {
        const Loop z{count[0], layout.strides[0]};
        const Loop y{count[1], layout.strides[1]};
        const Loop x{count[2], layout.strides[2]};
        const Loop c{components, layout.component_stride};
        const auto loops = order == Order::planar ? std::array{c, z, y, x} : std::array{z, y, x, c};
        left_ = Box{{}, count}.volume() * components * scalar_bytes;
        run_ = scalar_bytes;
        for (std::size_t i = loops.size(); i-- > 0;) {
            if (loops[i].count == 1)
                continue;
            if (depth_ == 0 && loops[i].stride == run_)
                run_ *= loops[i].count;
            else
                loops_[depth_++] = loops[i];
        }
    }

    /// The next run, at most `most` bytes of it; of 0 bytes at the end.
    [[nodiscard]] Run next(std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
        const std::int64_t length = std::min({run_ - within_, left_, most});
        if (length <= 0)
            return {};
        const Run run{offset_ + within_, length};
        within_ += length;
        left_ -= length;
        if (within_ == run_) {
            within_ = 0;
            advance();
        }
        return run;
    }

    /// Bytes not handed out yet.
    [[nodiscard]] std::int64_t left() const { return left_; }
    /// Bytes of a whole run: short ones are better packed with `copy` than sent one by one.
    [[nodiscard]] std::int64_t run_bytes() const { return run_; }

  private:
    struct Loop {
        std::int64_t count = 1;
        std::int64_t stride = 0;
        std::int64_t index = 0;
    };

    void advance() {
        for (std::size_t i = 0; i < depth_; ++i) {
            Loop& loop = loops_[i];
            offset_ += loop.stride;
            if (++loop.index < loop.count)
                return;
            offset_ -= loop.index * loop.stride;
            loop.index = 0;
        }
    }

    std::array<Loop, 4> loops_{}; ///< innermost first
    std::size_t depth_ = 0;
    std::int64_t run_ = 0;
    std::int64_t within_ = 0;
    std::int64_t offset_ = 0;
    std::int64_t left_ = 0;
};

} // namespace uzushio::staging
