#include "raycast/scout.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace uzushio::raycast {

Beam::Beam(const Packet& packet) {
    const auto range = [&](Floats values) {
        return Range{least(select(packet.hits, values, floats(infinity))),
                     greatest(select(packet.hits, values, floats(-infinity)))};
    };
    for (std::size_t a = 0; a < 3; ++a) {
        start[a] = range(packet.start[a]);
        along[a] = range(packet.along[a]);
    }
}

Scout::Stretch Scout::next(std::int32_t from, std::int32_t end) {
    while (part_.activity.any && from < end) {
        if (from < first_ || from >= known_)
            look(from);
        const unsigned ahead = shows_ >> ((from - first_) / stretch_);
        if (ahead == 0) {
            from = known_;
            continue;
        }
        const auto skip = std::countr_zero(ahead);
        const std::int32_t begin =
            skip == 0 ? from : first_ + ((from - first_) / stretch_ + skip) * stretch_;
        const auto run = std::countr_one(ahead >> skip);
        return {std::min(begin, end),
                std::min(first_ + ((begin - first_) / stretch_ + run) * stretch_, end)};
    }
    return {end, end};
}

void Scout::look(std::int32_t from) {
    first_ = from;
    known_ = from + lanes * stretch_;
    const Ints begin = lane_numbers() * stretch_ + from;
    const Floats enter = to_floats(begin) * step_, leave = to_floats(begin + stretch_) * step_;
    std::array<Ints, 3> low, high;
    for (std::size_t a = 0; a < 3; ++a) {
        const auto& start = beam_.start[a];
        const auto& along = beam_.along[a];
        const Floats least =
            fma(along.low < 0 ? leave : enter, floats(along.low), floats(start.low));
        const Floats greatest =
            fma(along.high < 0 ? enter : leave, floats(along.high), floats(start.high));
        low[a] = part_.sampler.cell(a, least) >> Bricks::shift;
        high[a] = part_.sampler.cell(a, greatest) >> Bricks::shift;
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

} // namespace uzushio::raycast
