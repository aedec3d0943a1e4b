#pragma once

#include <array>
#include <cstdint>

#include "raycast/packet_bounds.hpp"
#include "raycast/plan.hpp"
#include "raycast/segment_ends.hpp"

namespace uzushio::raycast {

/// Goes ahead of a packet and tells which of its segments may show something.
///
/// It looks at sixteen stretches of the way at once, each of some segments: at the box of cells in
/// which all rays of the packet are on a stretch. A stretch is passed over if no brick that its box
/// touches shows anything; and, in a scene without volumes, if no iso-surface crosses a cell of the
/// box.
class Scout {
  public:
    Scout(const Plan& plan, const Part& part, const PacketBounds& bounds, const SegmentEnds& ends)
        : plan_(plan), part_(part), bounds_(bounds), ends_(ends), stretch_(plan.stretch) {}

    /// Segments from `begin` up to `end`.
    struct Stretch {
        std::int32_t begin, end;
        bool surfaces; ///< whether there may be iso-surfaces
    };
    /// The next one, from a segment on, that may show something; empty at `end` if there is none
    /// before.
    [[nodiscard]] Stretch next(std::int32_t from, std::int32_t end);

  private:
    void look(std::int32_t from);
    bool surfaces(unsigned stretch);
    [[nodiscard]] bool may_cross(unsigned stretch) const;

    const Plan& plan_;
    const Part& part_;
    const PacketBounds& bounds_;
    const SegmentEnds& ends_;
    std::int32_t stretch_;
    std::int32_t first_ = 0; ///< segment at which the sixteen stretches begin
    std::int32_t known_ = 0; ///< and before which they end
    unsigned shows_ = 0;     ///< bit for each
    unsigned looked_ = 0;    ///< those whose iso-surfaces have been looked for
    unsigned surfaces_ = 0;  ///< and found
    alignas(64) std::array<std::array<std::int32_t, lanes>, 3> low_{}, high_{}; ///< cells of boxes
};

} // namespace uzushio::raycast
