#pragma once

#include "raycast/owned.hpp"
#include "raycast/painter.hpp"
#include "raycast/segment_ends.hpp"

namespace uzushio::raycast {

/// Many segments of one volume in one loop: all that changes stays in registers.
class Burst {
  public:
    explicit Burst(const Plan& plan);

    /// Whether the plan has one volume, without shading.
    [[nodiscard]] bool possible() const { return possible_; }

    /// Draw segments from `number` on up to `end`, in which there are no surfaces. `places` and
    /// `value`, the volume's, are those at the beginning of segment `number`, and then of `end`.
    void draw(Painter& painter, const Part& part, const Packet& packet, const SegmentEnds& ends,
              const Owned& mine, Mask alive, std::int32_t number, std::int32_t end, Places& places,
              Floats& value) const;

  private:
    const Plan& plan_;
    bool possible_;
};

} // namespace uzushio::raycast
