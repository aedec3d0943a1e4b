#include "raycast/clip_interval.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace uzushio::raycast {

namespace {

constexpr double tiny = 1e-30;
/// Segments by which `SegmentEnds::segment_at` may err, plus one.
constexpr std::int32_t margin = 2;

} // namespace

ClipInterval::ClipInterval(const Scene& scene, const RayPacket& packet)
    : any(packet.hits), begin(floats(0)), end(packet.length) {
    for (const HalfSpace& half_space : scene.half_spaces) {
        alignas(64) std::array<double, lanes> enter, leave;
        const double offset = dot(half_space.origin, half_space.normal);
        for (int i = 0; i < lanes; ++i) {
            double along_normal = 0, at = 0;
            for (std::size_t a = 0; a < 3; ++a) {
                along_normal += packet.directions[a][i] * half_space.normal[a];
                at += packet.origins[a][i] * half_space.normal[a];
            }
            constexpr double unlimited = std::numeric_limits<double>::infinity();
            enter[i] = -unlimited;
            leave[i] = unlimited;
            // The distance is computed as that to a slice in this plane.
            if (along_normal >= tiny)
                leave[i] = (offset - at) / along_normal - packet.enters[i];
            else if (along_normal <= -tiny)
                enter[i] = (offset - at) / along_normal - packet.enters[i];
            else if (at > offset)
                leave[i] = -unlimited;
        }
        begin = max(begin, load_floats(enter.data()));
        end = min(end, load_floats(leave.data()));
    }
    any = any & less(begin, end);
}

void ClipInterval::find_segments(const RayPacket& packet, const SegmentEnds& ends) {
    const Ints from = ends.segment_at(min(max(begin, floats(0)), packet.length));
    const Ints to = ends.segment_at(min(max(end, floats(0)), packet.length));
    const Mask begins = any & less(floats(0), begin), stops = any & less(end, packet.length);
    first = reduce_min(select(any, from, ints(int_max - margin))) - 1;
    last_end = reduce_max(select(any, to, ints(-margin))) + margin;
    whole_first = reduce_max(select(begins, from + margin, ints(0)));
    whole_end = reduce_min(select(stops, to - 1, ints(int_max)));
}

} // namespace uzushio::raycast
