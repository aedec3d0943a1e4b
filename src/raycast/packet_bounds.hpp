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

    /// Bounds of all rays' positions along an axis between two distances. They are computed with
    /// the same operations as positions of samples, which keep the order of numbers: no sample
    /// lies outside of them.
    [[nodiscard]] UZUSHIO_INLINE Floats lowest(std::size_t a, Floats begin, Floats end) const {
        return fma(along[a].low < 0 ? end : begin, floats(along[a].low), floats(start[a].low));
    }
    [[nodiscard]] UZUSHIO_INLINE Floats highest(std::size_t a, Floats begin, Floats end) const {
        return fma(along[a].high < 0 ? begin : end, floats(along[a].high), floats(start[a].high));
    }
};

} // namespace uzushio::raycast
