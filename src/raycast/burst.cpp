#include "raycast/burst.hpp"

#include <bit>

#include "raycast/crossing.hpp"

namespace uzushio::raycast {

namespace {

/// The lane, in all lanes, in which one of some rays has the least value.
Ints lowest_of(Mask rays, Floats values) {
    const Floats some = select(rays, values, floats(infinity));
    const unsigned bits = bits_of(equal(some, floats(least(some))));
    return ints(std::countr_zero(bits | 0x8000U));
}

} // namespace

Burst::Burst(const Plan& plan) : plan_(plan) {
    possible_ = plan.channels.size() == 1 && plan.clouds.size() <= 1 &&
                (plan.clouds.empty() || !plan.clouds.front().volume->shading);
    for (const Surface& iso : plan.isos)
        iso_values_.push_back(
            floats(static_cast<float>(iso.value - plan.channels[iso.channel].shift)));
}

bool Burst::draw(Painter& painter, const Part& part, const Packet& packet, const Owned& mine,
                 Mask alive, std::int32_t& number, std::int32_t end, Places& places,
                 Floats& value) const {
    const Channel& channel = plan_.channels.front();
    const FieldView& field = *part.fields[channel.field];
    const Floats length = packet.length;
    const auto step = static_cast<float>(plan_.scene.step);
    // Rays hardly change places on their way: who is lowest once is so until the end, or else the
    // values are gathered.
    const Floats distance = min(floats((static_cast<float>(number) + 1) * step), length);
    Sampler::Corner lowest;
    for (std::size_t a = 0; a < 3; ++a)
        lowest[a] = lowest_of(alive, packet.position(a, distance));
    const auto corner = [&](const Places& at) {
        return Sampler::Corner{broadcast(at.cell[0], lowest[0]), broadcast(at.cell[1], lowest[1]),
                               broadcast(at.cell[2], lowest[2])};
    };
    const Cloud* const cloud = plan_.clouds.empty() ? nullptr : &plan_.clouds.front();
    const float unit = cloud == nullptr ? 0 : static_cast<float>(-1 / cloud->volume->unit_distance);
    const bool depth = painter.depth();
    Pixels pixels = painter.pixels;
    Mask seen = no_lane();
    Floats front = value;
    std::int32_t k = number;
    for (bool surface = false; k < end; ++k) {
        const Mask rays = mine.has(k) & alive & pixels.open();
        const Floats from = min(floats(static_cast<float>(k) * step), length);
        const Floats to = min(floats(static_cast<float>(k + 1) * step), length);
        const Places next = part.sampler.places(packet, to);
        const Mask there = mine.reaches(k + 1) & alive;
        const Floats back = part.sampler.value(field, channel.shift, next, there, corner(next));
        for (const Floats iso : iso_values_)
            surface = surface || any(rays & crosses(front, back, iso));
        if (surface)
            break;
        if (cloud != nullptr) {
            const Medium medium = (*cloud->volume->transfer)(front, back, channel.shift);
            seen = seen | (rays & less(floats(0), medium.extinction));
            const Floats remaining = select(
                rays, pixels.left * exp2(medium.extinction * ((to - from) * unit)), pixels.left);
            const Floats before = pixels.take(pixels.left - remaining, remaining, medium.red,
                                              medium.green, medium.blue);
            if (depth)
                pixels.reach(rays, before, painter.depth_of(from));
        }
        front = back;
        places = next;
    }
    if (cloud != nullptr) {
        painter.pixels = pixels;
        painter.saw(cloud->layer, seen);
    }
    value = front;
    number = k;
    return k == end;
}

} // namespace uzushio::raycast
