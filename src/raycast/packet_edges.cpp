#include "raycast/packet_edges.hpp"

namespace uzushio::raycast {

PacketEdges::PacketEdges(const BoxEdges& box_edges, const RayPacket& packet, int column, int row) {
    const auto pixels = box_edges.packet(column, row);
    any = !pixels.empty();
    if (!any)
        return;
    alignas(64) std::array<std::array<float, lanes>, 7> all{};
    alignas(64) std::array<float, lanes> enter, length;
    store(enter.data(), packet.enter);
    store(length.data(), packet.length);
    const unsigned hits = bits_of(packet.hits);
    for (const EdgePixel& pixel : pixels) {
        const int i = pixel.lane;
        const bool misses = (hits >> i & 1U) == 0;
        const bool near = pixel.distance < enter[i] + length[i] / 2;
        float& opacity = all[misses ? 2 : near ? 0 : 1][i];
        opacity += (1 - opacity) * pixel.coverage;
        if (!misses)
            continue;
        for (std::size_t a = 0; a < 3; ++a)
            all[3 + a][i] = pixel.position[a];
        all[6][i] = pixel.distance;
    }
    front = load(all[0].data());
    back = load(all[1].data());
    beside = load(all[2].data());
    position = {load(all[3].data()), load(all[4].data()), load(all[5].data())};
    distance = load(all[6].data());
}

} // namespace uzushio::raycast
