#pragma once

#include <array>
#include <cstdint>

#include "raycast/cast_plan.hpp"
#include "raycast/packet_bounds.hpp"
#include "raycast/segment_ends.hpp"

namespace uzushio::raycast {

/// Search for the segments of a packet in which something may be visible.
///
/// Sixteen groups of consecutive segments are tested at once. The box of a group is the box of
/// cells that contains all rays of the packet on these segments. A group is skipped if its box
/// touches no active brick or, in a scene without volumes, if no iso-surface crosses a cell of the
/// box.
class EmptySpaceSkipper {
  public:
    EmptySpaceSkipper(const CastPlan& plan, const VisibleBlock& block, const PacketBounds& bounds,
                      const SegmentEnds& ends)
        : plan_(plan), block_(block), bounds_(bounds), ends_(ends), group_size_(plan.group_size) {}

    /// Range of segments, end exclusive.
    struct SegmentRange {
        std::int32_t begin, end;
        bool surfaces; ///< whether there may be iso-surfaces
    };
    /// Return the next range, from a segment on, in which something may be visible; empty at `end`
    /// if there is none before.
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
    std::int32_t first_ = 0; ///< first segment of the sixteen groups
    std::int32_t end_ = 0;   ///< end of the sixteen groups
    unsigned active_ = 0;    ///< bit for each group
    unsigned tested_ = 0;    ///< groups whose crossed cells have been tested
    unsigned crossed_ = 0;   ///< groups with crossed cells
    alignas(64) std::array<std::array<std::int32_t, lanes>, 3> low_{}, high_{}; ///< cells of boxes
};

} // namespace uzushio::raycast
