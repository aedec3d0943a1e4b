#pragma once

#include "stencil/double_buffer.hpp"
#include "stencil/rect.hpp"

namespace uzushio::stencil {

/// Prefetcher of upcoming rows of both buffers in small batches; a single large batch would stall
/// the computation.
class Prefetcher {
  public:
    /// Begin with the points of `rect`, to be prefetched in `turns` calls of `advance` by 1; the
    /// rest of an earlier rectangle is dropped.
    void start(DoubleBuffer& buffers, const Rect& rect, std::int64_t turns) {
        buffers_ = &buffers;
        rect_ = rect;
        buffer_ = 0;
        at_ = end_ = nullptr;
        lines_per_turn_ = rect.empty() ? 0 : static_cast<int>(2 * rect.points() / line / turns) + 1;
    }

    /// Prefetch the cache lines of `turns` turns.
    void advance(int turns) {
        for (int lines = turns * lines_per_turn_; lines > 0; --lines) {
            if (at_ >= end_ && !next_row())
                return;
            __builtin_prefetch(at_, 0, 2);
            at_ += line;
        }
    }

  private:
    static constexpr int line = 8; ///< doubles of a cache line

    bool next_row() {
        if (rect_.empty()) {
            lines_per_turn_ = 0;
            return false;
        }
        at_ = buffers_->row(buffer_, rect_.y.begin) + rect_.x.begin;
        end_ = at_ + rect_.x.size();
        rect_.y.begin += buffer_;
        buffer_ ^= 1;
        return true;
    }

    DoubleBuffer* buffers_ = nullptr;
    Rect rect_;
    int buffer_ = 0;
    int lines_per_turn_ = 0;
    const double* at_ = nullptr;
    const double* end_ = nullptr;
};

} // namespace uzushio::stencil
