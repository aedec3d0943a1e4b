#pragma once

#include <cstdint>
#include <vector>

#include "raycast/packet_bounds.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// Distances from the entry points at which all rays of a packet are divided into segments.
///
/// Segments are as long as the scene's step. Where a ray of the packet meets narrower cells, a
/// segment is halved until, along each axis, it is at most as long as the narrowest cell that it
/// touches, times the scene's `step_in_cells`. The result depends on domain and camera only, so all
/// blocks find the same segments.
class SegmentEnds {
  public:
    explicit SegmentEnds(const Scene& scene);

    /// Divide the rays of a packet; the previous result is discarded.
    void compute(const PacketBounds& bounds);

    /// Return the length of the longest segment.
    [[nodiscard]] float step() const { return step_; }
    /// Return the number of segments of the longest ray, or more.
    [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(ends_.size()) - 1; }
    /// Return the beginning of a segment; for those beyond the last, the end of the last.
    [[nodiscard]] float operator[](std::int32_t segment) const {
        return ends_[segment < count() ? segment : count()];
    }
    [[nodiscard]] UZUSHIO_INLINE Floats at(Ints segments) const {
        return gather(ends_.data(), min(max(segments, ints(0)), ints(count())));
    }
    /// Return the segment that contains a distance, which must not be negative.
    [[nodiscard]] Ints segment_at(Floats distance) const;

  private:
    [[nodiscard]] Floats max_length(const PacketBounds& bounds, Floats begin, Floats end) const;
    void halve(const PacketBounds& bounds, float begin, float length);

    const Scene& scene_;
    float step_;
    std::vector<std::size_t> narrow_; ///< axes with cells narrow enough to halve segments
    std::vector<float> ends_;
};

} // namespace uzushio::raycast
