#pragma once

#include "raycast/cast_plan.hpp"
#include "raycast/ray_packet.hpp"
#include "raycast/segment_ends.hpp"

namespace uzushio::raycast {

/// Segments of each ray whose middles are in a block's own cells.
struct OwnedSegments {
    Mask any;
    Ints first, last;

    /// Rays of which this segment is the block's.
    [[nodiscard]] UZUSHIO_INLINE Mask has(std::int32_t segment) const {
        return less_equal(first, ints(segment)) & less_equal(ints(segment), last);
    }
    /// Rays whose place at the beginning of this segment is needed: it is the end of one before it.
    [[nodiscard]] UZUSHIO_INLINE Mask reaches(std::int32_t segment) const {
        return less_equal(first, ints(segment)) & less_equal(ints(segment - 1), last);
    }
};

/// Of those of `rays` that meet the block.
OwnedSegments find_owned_segments(const VisibleBlock& block, const RayPacket& packet, Mask rays,
                                  const SegmentEnds& ends);

} // namespace uzushio::raycast
