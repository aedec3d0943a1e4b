#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "staging/array_view.hpp"

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

/// Walks through the values of a view in the order of a stream and hands out their memory, one
/// contiguous run after the other: to gather what is sent, to scatter what arrives, or to sum it
/// up, without a packed copy. It stops and goes on anywhere, also within a value.
template <class Byte> class RunCursor {
  public:
    RunCursor(const BasicArrayView<Byte>& view, Order order) : base_(view.data) {
        const Loop z{view.count[0], view.layout.strides[0]};
        const Loop y{view.count[1], view.layout.strides[1]};
        const Loop x{view.count[2], view.layout.strides[2]};
        const Loop c{view.components, view.layout.component_stride};
        const auto loops = order == Order::planar ? std::array{c, z, y, x} : std::array{z, y, x, c};
        left_ = view.bytes();
        run_ = view.scalar_bytes;
        for (std::size_t i = loops.size(); i-- > 0;) {
            if (loops[i].count == 1)
                continue;
            if (depth_ == 0 && loops[i].stride == run_)
                run_ *= loops[i].count;
            else
                loops_[depth_++] = loops[i];
        }
    }

    /// The next run, at most `most` bytes of it; empty at the end.
    [[nodiscard]] std::span<Byte>
    next(std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
        const std::int64_t length = std::min({run_ - within_, left_, most});
        if (length <= 0)
            return {};
        const std::span<Byte> span(base_ + offset_ + within_, static_cast<std::size_t>(length));
        within_ += length;
        left_ -= length;
        if (within_ == run_) {
            within_ = 0;
            advance();
        }
        return span;
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

    Byte* base_;
    std::array<Loop, 4> loops_{}; ///< innermost first
    std::size_t depth_ = 0;
    std::int64_t run_ = 0;
    std::int64_t within_ = 0;
    std::int64_t offset_ = 0;
    std::int64_t left_ = 0;
};

template <class Byte> RunCursor(const BasicArrayView<Byte>&, Order) -> RunCursor<Byte>;

} // namespace uzushio::staging
