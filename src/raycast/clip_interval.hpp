#pragma once

#include <cstdint>

#include "raycast/ray_packet.hpp"
#include "raycast/segment_ends.hpp"

namespace uzushio::raycast {

/// Part of each ray of a packet that lies in all half spaces of the scene: the rays' whole length
/// without half spaces. It depends on the scene and the camera only, so all blocks find the same.
struct ClipInterval {
    Mask any;          ///< rays with such a part
    Floats begin, end; ///< distances

    /// Segments in which such a part may lie, end exclusive, and those that lie in it as a whole
    /// for all rays of `any`.
    std::int32_t first = 0, last_end = int_max;
    std::int32_t whole_first = 0, whole_end = int_max;

    explicit ClipInterval(const Scene& scene, const RayPacket& packet);

    /// Find the segments.
    void find_segments(const RayPacket& packet, const SegmentEnds& ends);

    /// Return whether such a part may lie in a segment.
    [[nodiscard]] bool may_hold(std::int32_t segment) const {
        return first <= segment && segment < last_end;
    }
    /// Return whether a segment lies in such a part as a whole, for all rays of `any`.
    [[nodiscard]] bool holds(std::int32_t segment) const {
        return whole_first <= segment && segment < whole_end;
    }
    /// Return whether points at these distances lie within the part, or beyond its ends by no more
    /// than `tolerance`: a slice in the plane of a half space is not lost to rounding.
    [[nodiscard]] Mask contains(Floats distance, float tolerance) const {
        return any & less_equal(begin - floats(tolerance), distance) &
               less_equal(distance, end + floats(tolerance));
    }
};

} // namespace uzushio::raycast
