#pragma once

#include <array>

#include "raycast/box_edges.hpp"
#include "raycast/ray_packet.hpp"

namespace uzushio::raycast {

/// BoxEdges of the domain's box in a packet, as opacities of its pixels.
///
/// A ray meets box_edges where it enters the domain or leaves it: before, or after, all that it
/// meets in between. They belong to the block that has that point; beside the domain there is
/// nothing else.
struct PacketEdges {
    /// Those of the packet whose upper left pixel is (column, row).
    PacketEdges(const BoxEdges& box_edges, const RayPacket& packet, int column, int row);

    Floats front{}, back{};           ///< on the near and far side of the domain
    Floats beside{};                  ///< of rays that miss the domain
    std::array<Floats, 3> position{}; ///< of the latter
    Floats distance{};                ///< and from the camera
    bool any = false;
};

} // namespace uzushio::raycast
