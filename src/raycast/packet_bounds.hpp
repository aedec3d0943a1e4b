#pragma once

#include <array>

#include "raycast/ray_packet.hpp"

namespace uzushio::raycast {

/// Bounding intervals of the entry points and directions of a packet's rays, in lookup space.
struct PacketBounds {
    explicit PacketBounds(const RayPacket& packet);

    struct Range {
        float low, high;
    };
    std::array<Range, 3> start, along;
    float length; ///< of the longest ray within the domain

    /// Return bounds of all rays' positions along an axis between two distances. They use the same
    /// operations as the positions of samples, which are monotonic: no sample lies outside the
    /// bounds.
    [[nodiscard]] UZUSHIO_INLINE Floats lowest(std::size_t a, Floats begin, Floats end) const {
        return fma(along[a].low < 0 ? end : begin, floats(along[a].low), floats(start[a].low));
    }
    [[nodiscard]] UZUSHIO_INLINE Floats highest(std::size_t a, Floats begin, Floats end) const {
        return fma(along[a].high < 0 ? begin : end, floats(along[a].high), floats(start[a].high));
    }
};

} // namespace uzushio::raycast
