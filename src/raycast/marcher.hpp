#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "raycast/burst.hpp"
#include "raycast/lines.hpp"
#include "raycast/owned.hpp"
#include "raycast/packet.hpp"
#include "raycast/painter.hpp"
#include "raycast/plan.hpp"
#include "raycast/scout.hpp"
#include "raycast/segment_ends.hpp"

namespace uzushio::raycast {

/// Takes packets of rays through all blocks, front to back. One for each thread.
class Marcher {
  public:
    /// `depth`: whether depth is wanted.
    Marcher(const Plan& plan, bool depth);

    /// Draw the packet whose upper left pixel this is.
    Pixels draw(int column, int row);

    /// For each layer, pixels in which it was seen, of all packets so far.
    [[nodiscard]] const std::vector<std::int64_t>& hits() const { return painter_.hits(); }
    /// Pixels in which a slice, or a surface coloured by another field, showed a value that is not
    /// finite, of all packets so far.
    [[nodiscard]] std::int64_t bad_pixels() const { return painter_.bad_pixels(); }

  private:
    void march(const Part& part);
    void march_surfaces(const Part& part, const Owned& mine, Mask& alive, std::int32_t begin,
                        std::int32_t end, bool isos);
    void cut(const Part& part);
    void place_slices(const Owned& mine);
    std::int32_t next_slice(std::int32_t from) const;
    /// Of some segments.
    const std::vector<Floats>& slices_in(std::int32_t begin, std::int32_t end);
    [[nodiscard]] Floats at(std::int32_t segment) const {
        return min(floats(ends_[segment]), packet_->length);
    }

    const Plan& plan_;
    Painter painter_;
    Burst burst_;
    // Of the packet that is being drawn.
    const Packet* packet_ = nullptr;
    std::optional<PacketBounds> bounds_;
    SegmentEnds ends_;
    std::vector<Floats> plane_;        ///< distance to each slice
    std::vector<Ints> plane_segment_;  ///< and its segment, if it is the block's
    std::vector<Floats> here_;         ///< distance to each slice that is here
    std::vector<Floats> front_, back_; ///< values of channels at a segment's ends
};

} // namespace uzushio::raycast
