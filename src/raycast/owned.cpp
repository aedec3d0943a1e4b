#include "raycast/owned.hpp"

namespace uzushio::raycast {

Owned find_owned(const Part& part, const Packet& packet, Mask rays, const SegmentEnds& ends) {
    const Block& block = *part.block;
    Floats enter = floats(0), leave = packet.length;
    for (std::size_t a = 0; a < 3; ++a) {
        const auto edge = [&](std::int32_t point) {
            const Floats at = part.sampler.axis(a).edge(ints(point));
            return (at - packet.start[a]) * packet.inverse[a];
        };
        const Floats low = edge(block.first_cell()[a]);
        const Floats high = edge(block.first_cell()[a] + block.cells()[a]);
        enter = max(enter, min(low, high));
        leave = min(leave, max(low, high));
    }
    Owned result{no_lane(), ints(never), ints(-1)};
    const Mask some = packet.hits & rays & less_equal(enter, leave + ends.step());
    if (!any(some))
        return result;
    // The bounds are rounded; which of the segments nearby are the first and the last is found as
    // every block finds it.
    const auto middle = [&](Ints number) {
        return (ends.at(number) + min(ends.at(number + 1), packet.length)) * 0.5F;
    };
    const Ints from = ends.holding(enter), to = ends.holding(max(leave, floats(0)));
    const Ints first = select(less(middle(from), enter), from + 1, from);
    const Ints last = select(less(leave, middle(to)), to - 1, to);
    for (int i = -1; i <= 1; ++i) {
        const auto take = [&](Ints number) {
            const Mask mine =
                some & less_equal(ints(0), number) & less(number, ints(ends.count())) &
                less(ends.at(number), packet.length) & part.sampler.owns(packet, middle(number));
            result.first = select(mine, min(result.first, number), result.first);
            result.last = select(mine, max(result.last, number), result.last);
            result.any = result.any | mine;
        };
        take(first + i);
        take(last + i);
    }
    return result;
}

} // namespace uzushio::raycast
