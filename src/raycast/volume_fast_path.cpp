#include "raycast/volume_fast_path.hpp"

#include <bit>

namespace uzushio::raycast {

namespace {

/// Return the lane of the ray with the smallest value, in all lanes.
Ints lowest_of(Mask rays, Floats values) {
    const Floats chosen = select(rays, values, floats(infinity));
    const unsigned bits = bits_of(equal(chosen, floats(reduce_min(chosen))));
    return ints(std::countr_zero(bits | 0x8000U));
}

} // namespace

VolumeFastPath::VolumeFastPath(const CastPlan& plan)
    : plan_(plan), applicable_(plan.volumes.size() == 1 && !plan.volumes.front().volume->shading) {}

void VolumeFastPath::draw(PacketShader& shader, const VisibleBlock& block, const RayPacket& packet,
                          const SegmentEnds& ends, const OwnedSegments& owned, Mask alive,
                          std::int32_t number, std::int32_t end, SamplePositions& positions,
                          Floats& value) const {
    const SampledField& sampled = plan_.sampled_fields.front();
    const PointValues& field = *block.fields[sampled.field];
    const Floats length = packet.length;
    const auto at = [&](std::int32_t k) { return min(floats(ends[k]), length); };
    // The order of rays hardly changes on their way: the lowest ray at the beginning is taken as
    // the lowest until the end; if it is not, values are gathered from memory.
    Sampler::Corner lowest;
    for (std::size_t a = 0; a < 3; ++a)
        lowest[a] = lowest_of(alive, packet.position(a, at(number + 1)));
    const auto corner = [&](const SamplePositions& of) {
        return Sampler::Corner{broadcast(of.cell[0], lowest[0]), broadcast(of.cell[1], lowest[1]),
                               broadcast(of.cell[2], lowest[2])};
    };
    const VolumeLayer& layer = plan_.volumes.front();
    const auto unit = static_cast<float>(-1 / layer.volume->unit_distance);
    const bool depth = shader.depth();
    PacketPixels pixels = shader.pixels;
    Mask seen = no_lanes();
    Floats front = value, from = at(number);
    for (std::int32_t k = number; k < end; ++k) {
        const Mask rays = owned.has(k) & alive & pixels.unterminated();
        const Floats to = at(k + 1);
        const SamplePositions next = block.sampler.locate(packet, to);
        const Mask there = owned.reaches(k + 1) & alive;
        const Floats back = block.sampler.value(field, sampled.shift, next, there, corner(next));
        const OpticalProperties optics = (*layer.volume->transfer)(front, back, sampled.shift);
        seen = seen | (rays & less(floats(0), optics.extinction));
        const Floats remaining =
            select(rays, pixels.transmittance * exp2(optics.extinction * ((to - from) * unit)),
                   pixels.transmittance);
        const Floats before = pixels.accumulate(pixels.transmittance - remaining, remaining,
                                                optics.red, optics.green, optics.blue);
        if (depth)
            pixels.update_depth(rays, before, shader.depth_of(from));
        front = back;
        from = to;
        positions = next;
    }
    shader.pixels = pixels;
    shader.mark_seen(layer.index, seen);
    value = front;
}

} // namespace uzushio::raycast
