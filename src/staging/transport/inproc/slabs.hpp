#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging::inproc {

/// Cuts an array of `count` values into boxes of no more than `most` values each, whole planes or
/// rows where they fit, in the order of memory. Two that are given the same cut alike.
class Slabs {
  public:
    Slabs(const Extent& count, std::int64_t most) : count_(count) {
        left_ = !Box{{}, count}.empty();
        step_ = {1, 1, 1};
        if (!left_)
            return;
        for (std::size_t axis = 3; axis-- > 0;) {
            step_[axis] = std::clamp<std::int64_t>(most, 1, count[axis]);
            if (step_[axis] < count[axis])
                break;
            most /= count[axis];
        }
    }

    /// The next box; nothing at the end.
    [[nodiscard]] std::optional<Box> next() {
        if (!left_)
            return std::nullopt;
        Box box{at_, {}};
        for (std::size_t axis = 0; axis < 3; ++axis)
            box.count[axis] = std::min(step_[axis], count_[axis] - at_[axis]);
        left_ = false;
        for (std::size_t axis = 3; axis-- > 0 && !left_;) {
            at_[axis] += step_[axis];
            left_ = at_[axis] < count_[axis];
            if (!left_)
                at_[axis] = 0;
        }
        return box;
    }

  private:
    Extent count_, step_{}, at_{};
    bool left_ = false;
};

} // namespace uzushio::staging::inproc
