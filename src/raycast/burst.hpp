#pragma once

#include <vector>

#include "raycast/owned.hpp"
#include "raycast/painter.hpp"

namespace uzushio::raycast {

/// Many segments of one volume, or of none, in one loop: all that changes stays in registers.
class Burst {
  public:
    explicit Burst(const Plan& plan);

    /// Whether the plan has one channel with, at most, one volume without shading.
    [[nodiscard]] bool possible() const { return possible_; }

    /// Draw segments from `number` on up to `end`, or to one in which there is a surface; returns
    /// whether it has come to the end. `places` and `value`, the channel's, are those at the
    /// beginning of segment `number`, before and after.
    bool draw(Painter& painter, const Part& part, const Packet& packet, const Owned& mine,
              Mask alive, std::int32_t& number, std::int32_t end, Places& places,
              Floats& value) const;

  private:
    const Plan& plan_;
    bool possible_;
    std::vector<Floats> iso_values_;
};

} // namespace uzushio::raycast
