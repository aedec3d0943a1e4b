#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "raycast/cast_plan.hpp"
#include "raycast/empty_space_skipper.hpp"
#include "raycast/owned_segments.hpp"
#include "raycast/packet_edges.hpp"
#include "raycast/packet_shader.hpp"
#include "raycast/ray_packet.hpp"
#include "raycast/segment_ends.hpp"
#include "raycast/volume_fast_path.hpp"

namespace uzushio::raycast {

/// Takes packets of rays through all blocks, front to back. One for each thread.
class RayMarcher {
  public:
    /// `depth`: whether depth is wanted.
    RayMarcher(const CastPlan& plan, bool depth);

    /// Draw the packet whose upper left pixel this is.
    PacketPixels draw(int column, int row);

    /// For each layer, pixels in which it was seen, of all packets so far.
    [[nodiscard]] const std::vector<std::int64_t>& hits() const { return shader_.hits(); }
    /// PacketPixels in which a slice, or a surface coloured by another field, showed a value that
    /// is not finite, of all packets so far.
    [[nodiscard]] std::int64_t nonfinite_pixels() const { return shader_.nonfinite_pixels(); }

  private:
    void march(const VisibleBlock& block);
    void march_surfaces(const VisibleBlock& block, const OwnedSegments& owned, Mask& alive,
                        std::int32_t begin, std::int32_t end, bool may_cross);
    void draw_slices(const VisibleBlock& block);
    void assign_slices(const OwnedSegments& owned);
    std::int32_t next_slice(std::int32_t from) const;
    /// Of some segments.
    const std::vector<Floats>& slices_in(std::int32_t begin, std::int32_t end);
    [[nodiscard]] Floats at(std::int32_t segment) const {
        return min(floats(ends_[segment]), packet_->length);
    }

    const CastPlan& plan_;
    PacketShader shader_;
    VolumeFastPath fast_path_;
    // Of the packet that is being drawn.
    const RayPacket* packet_ = nullptr;
    std::optional<PacketBounds> bounds_;
    SegmentEnds ends_;
    std::vector<Floats> plane_distance_; ///< distance to each slice
    std::vector<Ints> plane_segment_;    ///< and its segment, if it is the block's
    std::vector<Floats> here_;           ///< distance to each slice that is here
    std::vector<Floats> front_, back_;   ///< values of channels at a segment's ends
};

} // namespace uzushio::raycast
