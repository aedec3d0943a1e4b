#include "raycast/owned.hpp"

namespace uzushio::raycast {

Owned find_owned(const Part& part, const Packet& packet, Mask rays, float step) {
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
    const Mask some = packet.hits & rays & less_equal(enter, leave + step);
    if (!any(some))
        return result;
    // The bounds are rounded; which of the segments nearby are the first and the last is found as
    // every block finds it.
    const auto middle = [&](Floats number) {
        const Floats begin = number * step;
        return (begin + min(begin + step, packet.length)) * 0.5F;
    };
    const Floats first = floor(enter * (1 / step) + 0.5F);
    const Floats last = floor(leave * (1 / step) - 0.5F);
    for (int i = -1; i <= 1; ++i) {
        const auto take = [&](Floats number) {
            const Mask mine = some & less_equal(floats(0), number) &
                              less(number * step, packet.length) &
                              part.sampler.owns(packet, middle(number));
            result.first = select(mine, min(result.first, to_ints(number)), result.first);
            result.last = select(mine, max(result.last, to_ints(number)), result.last);
            result.any = result.any | mine;
        };
        take(first + static_cast<float>(i));
        take(last + static_cast<float>(i));
    }
    return result;
}

} // namespace uzushio::raycast
