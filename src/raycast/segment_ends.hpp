#pragma once

#include <cstdint>
#include <vector>

#include "raycast/packet_bounds.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// Distances at which all rays of a packet are cut into segments, from where each enters the
/// domain.
///
/// Segments are as long as the scene's step. Where a ray of the packet meets narrower cells, a
/// segment is halved until, along each axis, it is no longer than the narrowest cell that it
/// touches, times the scene's `step_in_cells`. That depends on the domain and the camera alone, so
/// that all blocks find the same segments.
class SegmentEnds {
  public:
    explicit SegmentEnds(const Scene& scene);

    /// Cut the rays of a packet; the one before is forgotten.
    void compute(const PacketBounds& bounds);

    /// The length of the longest segment.
    [[nodiscard]] float step() const { return step_; }
    /// The number of segments of the longest ray, or more.
    [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(ends_.size()) - 1; }
    /// Where a segment begins; beyond the last one, where that ends.
    [[nodiscard]] float operator[](std::int32_t segment) const {
        return ends_[segment < count() ? segment : count()];
    }
    [[nodiscard]] UZUSHIO_INLINE Floats at(Ints segments) const {
        return gather(ends_.data(), min(max(segments, ints(0)), ints(count())));
    }
    /// The segment that a distance, which is not negative, lies in.
    [[nodiscard]] Ints segment_at(Floats distance) const;

  private:
    [[nodiscard]] Floats max_length(const PacketBounds& bounds, Floats begin, Floats end) const;
    void halve(const PacketBounds& bounds, float begin, float length);

    const Scene& scene_;
    float step_;
    std::vector<std::size_t> narrow_; ///< axes with cells so narrow that segments are halved
    std::vector<float> ends_;
};

} // namespace uzushio::raycast
