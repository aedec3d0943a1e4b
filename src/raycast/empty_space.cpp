#include "raycast/empty_space.hpp"

namespace uzushio::raycast {

Ints brick_distance(const Part& part, const Places& at) {
    const auto& activity = part.activity;
    const Ints number = (at.cell[0] >> Bricks::shift) +
                        activity.count[0] * ((at.cell[1] >> Bricks::shift) +
                                             activity.count[1] * (at.cell[2] >> Bricks::shift));
    return gather_bytes(activity.distance.data(), number);
}

Ints free_until(const Part& part, const Packet& packet, float step, const Places& at,
                Ints distance) {
    Floats leave = floats(infinity);
    for (std::size_t a = 0; a < 3; ++a) {
        const std::int32_t last = part.block->points()[a] - 1;
        const Ints brick = at.cell[a] >> Bricks::shift;
        const Ints low = (brick - distance + 1) << Bricks::shift;
        const Ints high = (brick + distance) << Bricks::shift;
        const Mask up = less(floats(0), packet.inverse[a]);
        const Ints point = select(up, high, low);
        const Mask ends = less(ints(0), point) & less(point, ints(last));
        const Ints inside = min(max(point, ints(0)), ints(last));
        const Floats edge = part.sampler.axis(a).edge(inside + part.block->first_point()[a]);
        const Floats until = (edge - packet.start[a]) * packet.inverse[a];
        leave = select(ends, min(leave, until), leave);
    }
    // A little earlier, so that rounding does no harm.
    const Floats number = floor(leave * (1 / step) - 0.02F);
    return to_ints(min(number, floats(1e9F)));
}

} // namespace uzushio::raycast
