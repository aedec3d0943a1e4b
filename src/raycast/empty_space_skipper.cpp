#include "raycast/empty_space_skipper.hpp"

#include <algorithm>
#include <bit>

namespace uzushio::raycast {

namespace {

constexpr std::int32_t max_box = 16; ///< cells along an axis

} // namespace

EmptySpaceSkipper::SegmentRange EmptySpaceSkipper::next(std::int32_t from, std::int32_t end) {
    while (block_.active_bricks.any && from < end) {
        if (from < first_ || from >= end_)
            test_groups(from);
        auto number = static_cast<unsigned>((from - first_) / group_size_);
        const unsigned ahead = active_ >> number;
        if (ahead == 0) {
            from = end_;
            continue;
        }
        const auto begin_of = [&](unsigned group) {
            return first_ + static_cast<std::int32_t>(group) * group_size_;
        };
        if (const auto skip = static_cast<unsigned>(std::countr_zero(ahead)); skip > 0) {
            number += skip;
            from = begin_of(number);
        }
        const bool with_surfaces = has_surfaces(number);
        if (!with_surfaces && plan_.volumes.empty()) {
            from = begin_of(number + 1);
            continue;
        }
        do
            ++number;
        while (!plan_.volumes.empty() && (active_ >> number & 1U) != 0 &&
               has_surfaces(number) == with_surfaces);
        return {std::min(from, end), std::min(begin_of(number), end), with_surfaces};
    }
    return {end, end, false};
}

void EmptySpaceSkipper::test_groups(std::int32_t from) {
    first_ = from;
    end_ = from + lanes * group_size_;
    tested_ = crossed_ = 0;
    const Ints begin = lane_numbers() * group_size_ + from;
    const Floats enter = ends_.at(begin), leave = ends_.at(begin + group_size_);
    std::array<Ints, 3> low, high;
    for (std::size_t a = 0; a < 3; ++a) {
        low[a] = block_.sampler.cell(a, bounds_.lowest(a, enter, leave));
        high[a] = block_.sampler.cell(a, bounds_.highest(a, enter, leave));
        store(low_[a].data(), low[a]);
        store(high_[a].data(), high[a]);
        low[a] = low[a] >> Bricks::shift;
        high[a] = high[a] >> Bricks::shift;
    }
    if (block_.active_bricks.all) {
        active_ = (1U << lanes) - 1;
        return;
    }
    // On a level with large enough bricks, a box touches at most two along each axis.
    std::size_t level = 0;
    const auto wide = [&](std::size_t a) { return less(low[a] + 1, high[a]); };
    while (any(wide(0) | wide(1) | wide(2))) {
        ++level;
        for (std::size_t a = 0; a < 3; ++a) {
            low[a] = low[a] >> 1;
            high[a] = high[a] >> 1;
        }
    }
    const ActiveBricks::Level& bricks = block_.active_bricks.levels[level];
    const Ints number = low[0] + bricks.count[0] * (low[1] + bricks.count[1] * low[2]);
    Ints touched = gather_bytes(bricks.following.data(), number);
    for (std::size_t a = 0; a < 3; ++a)
        touched =
            touched & select(equal(low[a], high[a]), ints(ActiveBricks::along_bits[a]), ints(255));
    active_ = bits_of(less(ints(0), touched));
}

bool EmptySpaceSkipper::has_surfaces(unsigned group) {
    const unsigned bit = 1U << group;
    if ((tested_ & bit) == 0) {
        tested_ |= bit;
        if (may_cross(group))
            crossed_ |= bit;
    }
    return (crossed_ & bit) != 0;
}

/// Return whether an iso-surface may cross the box of a group. A large box counts as crossed.
bool EmptySpaceSkipper::may_cross(unsigned group) const {
    if (plan_.isosurfaces.empty())
        return false;
    Index low, high;
    std::int32_t widest = 0;
    for (std::size_t a = 0; a < 3; ++a) {
        low[a] = low_[a][group];
        high[a] = high_[a][group];
        widest = std::max(widest, high[a] - low[a]);
    }
    return widest >= max_box || block_.crossed.any_in(low, high);
}

} // namespace uzushio::raycast
