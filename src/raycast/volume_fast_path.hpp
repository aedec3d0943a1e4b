#pragma once

#include "raycast/owned_segments.hpp"
#include "raycast/packet_shader.hpp"
#include "raycast/segment_ends.hpp"

namespace uzushio::raycast {

/// Loop over many segments of one volume that keeps its state in registers.
class VolumeFastPath {
  public:
    explicit VolumeFastPath(const CastPlan& plan);

    /// Return whether the plan has one volume, without shading.
    [[nodiscard]] bool applicable() const { return applicable_; }

    /// Draw segments from `number` to `end`, exclusive, without surfaces. `positions` and `value`,
    /// of the volume, are those at the beginning of segment `number` on entry, of `end` on return.
    void draw(PacketShader& shader, const VisibleBlock& block, const RayPacket& packet,
              const SegmentEnds& ends, const OwnedSegments& owned, Mask alive, std::int32_t number,
              std::int32_t end, SamplePositions& positions, Floats& value) const;

  private:
    const CastPlan& plan_;
    bool applicable_;
};

} // namespace uzushio::raycast
