#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "raycast/cast_plan.hpp"
#include "raycast/clip_interval.hpp"
#include "raycast/empty_space_skipper.hpp"
#include "raycast/owned_segments.hpp"
#include "raycast/packet_edges.hpp"
#include "raycast/packet_shader.hpp"
#include "raycast/ray_packet.hpp"
#include "raycast/segment_ends.hpp"
#include "raycast/volume_fast_path.hpp"

namespace uzushio::raycast {

/// Traversal of all blocks, front to back, by one packet of rays at a time. One for each thread.
class RayMarcher {
  public:
    /// `depth`: whether to compute depth.
    RayMarcher(const CastPlan& plan, bool depth);

    /// Draw the packet with this upper left pixel.
    PacketPixels draw(int column, int row);

    /// Return for each layer the number of pixels in which it was visible, of all packets so far.
    [[nodiscard]] const std::vector<std::int64_t>& hits() const { return shader_.hits(); }
    /// Return the number of pixels in which a slice, or a surface coloured by another field, had a
    /// value that is not finite, of all packets so far.
    [[nodiscard]] std::int64_t nonfinite_pixels() const { return shader_.nonfinite_pixels(); }

  private:
    void march(const VisibleBlock& block);
    void march_surfaces(const VisibleBlock& block, const OwnedSegments& owned, Mask& alive,
                        std::int32_t begin, std::int32_t end, bool may_cross);
    void draw_slices(const VisibleBlock& block);
    void measure_slices();
    void clip_owned(OwnedSegments& owned) const;
    void assign_slices(const OwnedSegments& owned);
    std::int32_t next_slice(std::int32_t from) const;
    /// Return the distances of slices in a range of segments; infinite for the others.
    const std::vector<Floats>& slices_in(std::int32_t begin, std::int32_t end);
    [[nodiscard]] Floats at(std::int32_t segment) const {
        return min(floats(ends_[segment]), packet_->length);
    }

    const CastPlan& plan_;
    PacketShader shader_;
    VolumeFastPath fast_path_;
    // Of the current packet.
    const RayPacket* packet_ = nullptr;
    std::optional<PacketBounds> bounds_;
    std::optional<ClipInterval> clip_; ///< if the plan clips layers
    SegmentEnds ends_;
    std::vector<Floats> plane_distance_; ///< distance to each slice
    std::vector<Ints> plane_segment_;    ///< its segment, if the block owns it
    std::vector<Floats> here_;           ///< result of `slices_in`
    std::vector<Floats> front_, back_;   ///< values of sampled fields at a segment's ends
};

} // namespace uzushio::raycast
