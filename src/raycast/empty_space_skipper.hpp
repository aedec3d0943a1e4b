#pragma once

#include <array>
#include <cstdint>

#include "raycast/cast_plan.hpp"
#include "raycast/packet_bounds.hpp"
#include "raycast/segment_ends.hpp"

namespace uzushio::raycast {

/// Goes ahead of a packet and tells which of its segments may show something.
///
/// It looks at sixteen stretches of the way at once, each of some segments: at the box of cells in
/// which all rays of the packet are on a stretch. A stretch is passed over if no brick that its box
/// touches shows anything; and, in a scene without volumes, if no iso-surface crosses a cell of the
/// box.
class EmptySpaceSkipper {
  public:
    EmptySpaceSkipper(const CastPlan& plan, const VisibleBlock& block, const PacketBounds& bounds,
                      const SegmentEnds& ends)
        : plan_(plan), block_(block), bounds_(bounds), ends_(ends), group_size_(plan.group_size) {}

    /// Segments from `begin` up to `end`.
    struct SegmentRange {
        std::int32_t begin, end;
        bool surfaces; ///< whether there may be iso-surfaces
    };
    /// The next one, from a segment on, that may show something; empty at `end` if there is none
    /// before.
    [[nodiscard]] SegmentRange next(std::int32_t from, std::int32_t end);

  private:
    void test_groups(std::int32_t from);
    bool has_surfaces(unsigned group);
    [[nodiscard]] bool may_cross(unsigned group) const;

    const CastPlan& plan_;
    const VisibleBlock& block_;
    const PacketBounds& bounds_;
    const SegmentEnds& ends_;
    std::int32_t group_size_;
    std::int32_t first_ = 0; ///< segment at which the sixteen stretches begin
    std::int32_t end_ = 0;   ///< and before which they end
    unsigned active_ = 0;    ///< bit for each
    unsigned tested_ = 0;    ///< those whose iso-surfaces have been looked for
    unsigned crossed_ = 0;   ///< and found
    alignas(64) std::array<std::array<std::int32_t, lanes>, 3> low_{}, high_{}; ///< cells of boxes
};

} // namespace uzushio::raycast
