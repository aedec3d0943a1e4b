#pragma once

#include "raycast/cast_plan.hpp"
#include "raycast/ray_packet.hpp"
#include "raycast/segment_ends.hpp"

namespace uzushio::raycast {

/// Segments of each ray whose middles lie in a block's own cells.
struct OwnedSegments {
    Mask any;
    Ints first, last;

    /// Return the rays of which the block owns this segment.
    [[nodiscard]] UZUSHIO_INLINE Mask has(std::int32_t segment) const {
        return less_equal(first, ints(segment)) & less_equal(ints(segment), last);
    }
    /// Return the rays that need a sample at the beginning of this segment, which is also the end
    /// of the one before.
    [[nodiscard]] UZUSHIO_INLINE Mask reaches(std::int32_t segment) const {
        return less_equal(first, ints(segment)) & less_equal(ints(segment - 1), last);
    }
};

/// Find the owned segments of those of `rays` that meet the block.
OwnedSegments find_owned_segments(const VisibleBlock& block, const RayPacket& packet, Mask rays,
                                  const SegmentEnds& ends);

} // namespace uzushio::raycast
