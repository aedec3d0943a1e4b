#include "raycast/burst.hpp"

#include <bit>

namespace uzushio::raycast {

namespace {

/// The lane, in all lanes, in which one of some rays has the least value.
Ints lowest_of(Mask rays, Floats values) {
    const Floats some = select(rays, values, floats(infinity));
    const unsigned bits = bits_of(equal(some, floats(least(some))));
    return ints(std::countr_zero(bits | 0x8000U));
}

} // namespace

Burst::Burst(const Plan& plan)
    : plan_(plan), possible_(plan.clouds.size() == 1 && !plan.clouds.front().volume->shading) {}

void Burst::draw(Painter& painter, const Part& part, const Packet& packet, const SegmentEnds& ends,
                 const Owned& mine, Mask alive, std::int32_t number, std::int32_t end,
                 Places& places, Floats& value) const {
    const Channel& channel = plan_.channels.front();
    const FieldView& field = *part.fields[channel.field];
    const Floats length = packet.length;
    const auto at = [&](std::int32_t k) { return min(floats(ends[k]), length); };
    // Rays hardly change places on their way: who is lowest once is so until the end, or else the
    // values are gathered.
    Sampler::Corner lowest;
    for (std::size_t a = 0; a < 3; ++a)
        lowest[a] = lowest_of(alive, packet.position(a, at(number + 1)));
    const auto corner = [&](const Places& of) {
        return Sampler::Corner{broadcast(of.cell[0], lowest[0]), broadcast(of.cell[1], lowest[1]),
                               broadcast(of.cell[2], lowest[2])};
    };
    const Cloud& cloud = plan_.clouds.front();
    const auto unit = static_cast<float>(-1 / cloud.volume->unit_distance);
    const bool depth = painter.depth();
    Pixels pixels = painter.pixels;
    Mask seen = no_lane();
    Floats front = value, from = at(number);
    for (std::int32_t k = number; k < end; ++k) {
        const Mask rays = mine.has(k) & alive & pixels.open();
        const Floats to = at(k + 1);
        const Places next = part.sampler.places(packet, to);
        const Mask there = mine.reaches(k + 1) & alive;
        const Floats back = part.sampler.value(field, channel.shift, next, there, corner(next));
        const Medium medium = (*cloud.volume->transfer)(front, back, channel.shift);
        seen = seen | (rays & less(floats(0), medium.extinction));
        const Floats remaining =
            select(rays, pixels.left * exp2(medium.extinction * ((to - from) * unit)), pixels.left);
        const Floats before =
            pixels.take(pixels.left - remaining, remaining, medium.red, medium.green, medium.blue);
        if (depth)
            pixels.reach(rays, before, painter.depth_of(from));
        front = back;
        from = to;
        places = next;
    }
    painter.pixels = pixels;
    painter.saw(cloud.layer, seen);
    value = front;
}

} // namespace uzushio::raycast
