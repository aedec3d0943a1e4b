#include "raycast/scout.hpp"

#include <algorithm>
#include <bit>

namespace uzushio::raycast {

namespace {

constexpr std::int32_t max_box = 16; ///< cells along an axis

} // namespace

Scout::Stretch Scout::next(std::int32_t from, std::int32_t end) {
    while (part_.activity.any && from < end) {
        if (from < first_ || from >= known_)
            look(from);
        auto number = static_cast<unsigned>((from - first_) / stretch_);
        const unsigned ahead = shows_ >> number;
        if (ahead == 0) {
            from = known_;
            continue;
        }
        const auto begin_of = [&](unsigned stretch) {
            return first_ + static_cast<std::int32_t>(stretch) * stretch_;
        };
        if (const auto skip = static_cast<unsigned>(std::countr_zero(ahead)); skip > 0) {
            number += skip;
            from = begin_of(number);
        }
        const bool found = surfaces(number);
        if (!found && plan_.clouds.empty()) {
            from = begin_of(number + 1);
            continue;
        }
        do
            ++number;
        while (!plan_.clouds.empty() && (shows_ >> number & 1U) != 0 && surfaces(number) == found);
        return {std::min(from, end), std::min(begin_of(number), end), found};
    }
    return {end, end, false};
}

void Scout::look(std::int32_t from) {
    first_ = from;
    known_ = from + lanes * stretch_;
    looked_ = surfaces_ = 0;
    const Ints begin = lane_numbers() * stretch_ + from;
    const Floats enter = ends_.at(begin), leave = ends_.at(begin + stretch_);
    std::array<Ints, 3> low, high;
    for (std::size_t a = 0; a < 3; ++a) {
        low[a] = part_.sampler.cell(a, bounds_.lowest(a, enter, leave));
        high[a] = part_.sampler.cell(a, bounds_.highest(a, enter, leave));
        store(low_[a].data(), low[a]);
        store(high_[a].data(), high[a]);
        low[a] = low[a] >> Bricks::shift;
        high[a] = high[a] >> Bricks::shift;
    }
    if (part_.activity.all) {
        shows_ = (1U << lanes) - 1;
        return;
    }
    // Of bricks that are large enough, a box touches two at most along each axis.
    std::size_t level = 0;
    const auto wide = [&](std::size_t a) { return less(low[a] + 1, high[a]); };
    while (any(wide(0) | wide(1) | wide(2))) {
        ++level;
        for (std::size_t a = 0; a < 3; ++a) {
            low[a] = low[a] >> 1;
            high[a] = high[a] >> 1;
        }
    }
    const Activity::Level& bricks = part_.activity.levels[level];
    const Ints number = low[0] + bricks.count[0] * (low[1] + bricks.count[1] * low[2]);
    Ints touched = gather_bytes(bricks.around.data(), number);
    for (std::size_t a = 0; a < 3; ++a)
        touched =
            touched & select(equal(low[a], high[a]), ints(Activity::level_with[a]), ints(255));
    shows_ = bits_of(less(ints(0), touched));
}

bool Scout::surfaces(unsigned stretch) {
    const unsigned bit = 1U << stretch;
    if ((looked_ & bit) == 0) {
        looked_ |= bit;
        if (may_cross(stretch))
            surfaces_ |= bit;
    }
    return (surfaces_ & bit) != 0;
}

/// Whether an iso-surface may cut a stretch's box. A large box is not looked through.
bool Scout::may_cross(unsigned stretch) const {
    if (plan_.isos.empty())
        return false;
    Index low, high;
    std::int32_t widest = 0;
    for (std::size_t a = 0; a < 3; ++a) {
        low[a] = low_[a][stretch];
        high[a] = high_[a][stretch];
        widest = std::max(widest, high[a] - low[a]);
    }
    return widest >= max_box || part_.crossed.any_in(low, high);
}

} // namespace uzushio::raycast
