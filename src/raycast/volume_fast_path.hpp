#pragma once

#include "raycast/owned_segments.hpp"
#include "raycast/packet_shader.hpp"
#include "raycast/segment_ends.hpp"

namespace uzushio::raycast {

/// Many segments of one volume in one loop: all that changes stays in registers.
class VolumeFastPath {
  public:
    explicit VolumeFastPath(const CastPlan& plan);

    /// Whether the plan has one volume, without shading.
    [[nodiscard]] bool applicable() const { return applicable_; }

    /// Draw segments from `number` on up to `end`, in which there are no surfaces. `positions` and
    /// `value`, the volume's, are those at the beginning of segment `number`, and then of `end`.
    void draw(PacketShader& shader, const VisibleBlock& block, const RayPacket& packet,
              const SegmentEnds& ends, const OwnedSegments& owned, Mask alive, std::int32_t number,
              std::int32_t end, SamplePositions& positions, Floats& value) const;

  private:
    const CastPlan& plan_;
    bool applicable_;
};

} // namespace uzushio::raycast
