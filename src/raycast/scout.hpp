#pragma once

#include <array>
#include <cstdint>

#include "raycast/packet.hpp"
#include "raycast/plan.hpp"

namespace uzushio::raycast {

/// A packet's rays as one: the least and greatest of where they enter and of their directions.
struct Beam {
    explicit Beam(const Packet& packet);

    struct Range {
        float low, high;
    };
    std::array<Range, 3> start, along;
};

/// Goes ahead of a packet and tells which of its segments may show something.
///
/// It looks at sixteen stretches of the way at once, each of some segments: at the box of cells in
/// which all rays of the packet are on a stretch. That box is found with the same operations as
/// places of samples are, which keep the order of numbers; so no sample lies outside of it. A
/// stretch is passed over if no brick that its box touches shows anything.
class Scout {
  public:
    /// `stretch`: segments in one.
    Scout(const Part& part, const Beam& beam, float step, std::int32_t stretch)
        : part_(part), beam_(beam), step_(step), stretch_(stretch) {}

    /// Segments from `begin` up to `end`.
    struct Stretch {
        std::int32_t begin, end;
    };
    /// The next one, from a segment on, that may show something; empty at `end` if there is none
    /// before.
    [[nodiscard]] Stretch next(std::int32_t from, std::int32_t end);

  private:
    void look(std::int32_t from);

    const Part& part_;
    const Beam& beam_;
    float step_;
    std::int32_t stretch_;
    std::int32_t first_ = 0; ///< segment at which the sixteen stretches begin
    std::int32_t known_ = 0; ///< and before which they end
    unsigned shows_ = 0;     ///< bit for each
};

} // namespace uzushio::raycast
