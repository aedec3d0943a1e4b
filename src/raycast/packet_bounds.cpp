#include "raycast/packet_bounds.hpp"

namespace uzushio::raycast {

PacketBounds::PacketBounds(const RayPacket& packet)
    : length(reduce_max(select(packet.hits, packet.length, floats(0)))) {
    const auto range = [&](Floats values) {
        return Range{reduce_min(select(packet.hits, values, floats(infinity))),
                     reduce_max(select(packet.hits, values, floats(-infinity)))};
    };
    for (std::size_t a = 0; a < 3; ++a) {
        start[a] = range(packet.start[a]);
        along[a] = range(packet.along[a]);
    }
}

} // namespace uzushio::raycast
