#pragma once

#include "stencil/levels.hpp"
#include "stencil/rect.hpp"

namespace uzushio::stencil {

/// Asks memory for rows of both buffers that will be read, a little at a time: all at once, what is
/// computed meanwhile would wait for them.
class Ahead {
  public:
    /// The points of `rect`, in so many turns. What is left of others is given up.
    void start(Levels& levels, const Rect& rect, std::int64_t turns) {
        levels_ = &levels;
        rect_ = rect;
        buffer_ = 0;
        at_ = end_ = nullptr;
        a_turn_ = rect.empty() ? 0 : static_cast<int>(2 * rect.points() / line / turns) + 1;
    }

    void go_on(int turns) {
        for (int lines = turns * a_turn_; lines > 0; --lines) {
            if (at_ >= end_ && !next_row())
                return;
            __builtin_prefetch(at_, 0, 2);
            at_ += line;
        }
    }

  private:
    static constexpr int line = 8;

    bool next_row() {
        if (rect_.empty()) {
            a_turn_ = 0;
            return false;
        }
        at_ = levels_->row(buffer_, rect_.y.begin) + rect_.x.begin;
        end_ = at_ + rect_.x.size();
        rect_.y.begin += buffer_;
        buffer_ ^= 1;
        return true;
    }

    Levels* levels_ = nullptr;
    Rect rect_;
    int buffer_ = 0;
    int a_turn_ = 0; ///< lines
    const double* at_ = nullptr;
    const double* end_ = nullptr;
};

} // namespace uzushio::stencil
