#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging::inproc {

/// Cutter of an array of `count` values into boxes of at most `max_values` values each, whole
/// planes or rows where they fit, in the order of memory. Deterministic.
class Slabs {
  public:
    Slabs(const Extent& count, std::int64_t max_values) : count_(count) {
        more_ = !Box::of(count).empty();
        step_ = {1, 1, 1};
        if (!more_)
            return;
        for (std::size_t axis = 3; axis-- > 0;) {
            step_[axis] = std::clamp<std::int64_t>(max_values, 1, count[axis]);
            if (step_[axis] < count[axis])
                break;
            max_values /= count[axis];
        }
    }

    /// Return the next box; nothing at the end.
    [[nodiscard]] std::optional<Box> next() {
        if (!more_)
            return std::nullopt;
        const Box box = intersect(Box::at(at_, step_), Box::of(count_));
        more_ = false;
        for (std::size_t axis = 3; axis-- > 0 && !more_;) {
            at_[axis] += step_[axis];
            more_ = at_[axis] < count_[axis];
            if (!more_)
                at_[axis] = 0;
        }
        return box;
    }

  private:
    Extent count_, step_{}, at_{};
    bool more_ = false;
};

} // namespace uzushio::staging::inproc
