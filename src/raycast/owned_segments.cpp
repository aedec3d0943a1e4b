#include "raycast/owned_segments.hpp"

namespace uzushio::raycast {

OwnedSegments find_owned_segments(const VisibleBlock& block, const RayPacket& packet, Mask rays,
                                  const SegmentEnds& ends) {
    const Block& stored = block.sampler.block();
    Floats enter = floats(0), leave = packet.length;
    for (std::size_t a = 0; a < 3; ++a) {
        const auto edge = [&](std::int32_t point) {
            const Floats at = block.sampler.axis(a).point_position(ints(point));
            return (at - packet.start[a]) * packet.inverse[a];
        };
        const Floats low = edge(stored.first_cell()[a]);
        const Floats high = edge(stored.first_cell()[a] + stored.cells()[a]);
        enter = max(enter, min(low, high));
        leave = min(leave, max(low, high));
    }
    OwnedSegments result{no_lanes(), ints(int_max), ints(-1)};
    const Mask meets = packet.hits & rays & less_equal(enter, leave + ends.step());
    if (!any(meets))
        return result;
    // The bounds are rounded. The exact first and last segment are found among their neighbours by
    // the same test in every block.
    const auto middle = [&](Ints number) {
        return (ends.at(number) + min(ends.at(number + 1), packet.length)) * 0.5F;
    };
    const Ints from = ends.segment_at(enter), to = ends.segment_at(max(leave, floats(0)));
    const Ints first = select(less(middle(from), enter), from + 1, from);
    const Ints last = select(less(leave, middle(to)), to - 1, to);
    for (int i = -1; i <= 1; ++i) {
        const auto take = [&](Ints number) {
            const Mask owned =
                meets & less_equal(ints(0), number) & less(number, ints(ends.count())) &
                less(ends.at(number), packet.length) & block.sampler.owns(packet, middle(number));
            result.first = select(owned, min(result.first, number), result.first);
            result.last = select(owned, max(result.last, number), result.last);
            result.any = result.any | owned;
        };
        take(first + i);
        take(last + i);
    }
    return result;
}

} // namespace uzushio::raycast
