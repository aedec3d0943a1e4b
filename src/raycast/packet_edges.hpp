#pragma once

#include <array>

#include "raycast/box_edges.hpp"
#include "raycast/ray_packet.hpp"

namespace uzushio::raycast {

/// Edges of the bounding box in a packet, as opacities of its pixels.
///
/// A ray meets an edge where it enters or leaves the domain, so before or behind everything else.
/// The edge belongs to the block that owns that point. Rays that miss the domain meet nothing else.
struct PacketEdges {
    /// Take the edges of the packet with this upper left pixel.
    PacketEdges(const BoxEdges& box_edges, const RayPacket& packet, int column, int row);

    Floats front{}, back{};           ///< on the near and far side of the domain
    Floats beside{};                  ///< for rays that miss the domain
    std::array<Floats, 3> position{}; ///< of the latter, in lookup space
    Floats distance{};                ///< of the latter, from the camera
    bool any = false;
};

} // namespace uzushio::raycast
