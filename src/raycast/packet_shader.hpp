#pragma once

#include <cstdint>
#include <vector>

#include "raycast/cast_plan.hpp"
#include "raycast/clip_interval.hpp"
#include "raycast/crossing.hpp"
#include "raycast/packet_pixels.hpp"
#include "raycast/ray_packet.hpp"

namespace uzushio::raycast {

/// Segment of each ray, and the values of all sampled fields at its ends.
struct RaySegment {
    Floats begin, end;
    const Floats* first;  ///< one for each sampled field; not owned
    const Floats* second; ///< likewise
};

/// Part of a segment in the scene's half spaces, and the values of a field at its ends.
struct ClippedSegment {
    Floats begin, end, first, second;
    Mask rays; ///< with such a part
};

/// Accumulation of colour along a packet's rays, front to back. One for each thread.
class PacketShader {
  public:
    /// `depth`: whether to compute depth.
    PacketShader(const CastPlan& plan, bool depth);

    /// Begin with empty pixels. Packet and clip interval must outlive its drawing; a plan without
    /// clipped layers has no interval.
    void begin_packet(const RayPacket& packet, const ClipInterval* clip);
    /// Count the pixels in which each layer was visible, and return the result.
    const PacketPixels& end_packet();

    /// Blend one colour with an opacity at a distance.
    void blend_line(Mask rays, const Rgba& color, Floats opacity, Floats distance);

    /// Shade slices at these distances and iso-surfaces crossed in the segment, nearest first, with
    /// the volumes between them. `slices`: one for each of the plan's, infinite where a ray does
    /// not meet it in the segment; `may_cross`: whether there may be iso-surfaces.
    void shade_segment(const VisibleBlock& block, Mask rays, const RaySegment& segment,
                       const std::vector<Floats>& slices, bool may_cross);
    /// Shade slices only.
    void shade_slices(const VisibleBlock& block, Mask rays, const std::vector<Floats>& slices);

    /// Shade the opaque iso-surfaces at which rays have ended: all of a block at once, because a
    /// gradient costs more than the traversal to the surface.
    void shade_deferred(const VisibleBlock& block);

    /// Colour and transmittance so far.
    PacketPixels pixels;
    void mark_seen(std::size_t layer, Mask rays) { seen_[layer] = seen_[layer] | rays; }
    /// Return the depth of points at a distance from the entry points.
    [[nodiscard]] UZUSHIO_INLINE Floats depth_of(Floats distance) const {
        return (packet_->enter + distance) * packet_->cosine;
    }
    [[nodiscard]] bool depth() const { return depth_; }

    /// Sample all fields of volumes.
    void sample(const VisibleBlock& block, const SamplePositions& positions, Mask rays,
                Floats* values) const;

    /// Return for each layer the number of pixels in which it was visible, of all packets so far.
    [[nodiscard]] const std::vector<std::int64_t>& hits() const { return hits_; }
    /// Return the number of pixels in which a slice, or a surface coloured by another field, had a
    /// value that is not finite, of all packets so far.
    [[nodiscard]] std::int64_t nonfinite_pixels() const { return nonfinite_pixels_; }

  private:
    void find_crossings(const VisibleBlock& block, const IsosurfaceField& group, Mask rays,
                        const RaySegment& segment);
    void add_slices(const std::vector<Floats>& slices, Mask rays, const RaySegment& segment);
    void shade_crossings(const VisibleBlock& block, Mask rays, const RaySegment& segment);
    void integrate_volumes(const VisibleBlock& block, Mask rays, const RaySegment& segment);
    [[nodiscard]] ClippedSegment clip_segment(const VisibleBlock& block, const SampledField& field,
                                              Mask rays, const RaySegment& segment, Floats first,
                                              Floats second) const;
    void shade_surface(const VisibleBlock& block, std::size_t number, Mask rays, Floats distance);
    Colors surface_color(const VisibleBlock& block, const Surface& surface, Mask rays,
                         Floats distance);
    void blend(Mask rays, const Colors& colors, Floats distance);
    [[nodiscard]] Colors lit(const Lighting& lighting, const Colors& colors,
                             const VisibleBlock& block, std::size_t field, double shift,
                             const SamplePositions& positions) const;

    const CastPlan& plan_;
    bool depth_;
    std::vector<std::int64_t> hits_;
    std::int64_t nonfinite_pixels_ = 0;
    // Of the current packet.
    const RayPacket* packet_ = nullptr;
    const ClipInterval* clip_ = nullptr;
    std::vector<Mask> seen_; ///< by layer
    CrossingFinder finder_;
    std::vector<Crossing> crossings_; ///< with surfaces within a segment
    struct DeferredHits {
        Mask rays{};
        Floats distance{}, weight{};
    };
    std::vector<DeferredHits>
        deferred_; ///< by iso-surface: rays that ended at it and are not yet shaded
    std::vector<Floats> before_, until_; ///< values of sampled fields around a crossing
};

} // namespace uzushio::raycast
