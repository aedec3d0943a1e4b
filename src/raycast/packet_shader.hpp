#pragma once

#include <cstdint>
#include <vector>

#include "raycast/cast_plan.hpp"
#include "raycast/crossing.hpp"
#include "raycast/packet_pixels.hpp"
#include "raycast/ray_packet.hpp"
#include "raycast/span.hpp"

namespace uzushio::raycast {

/// Draws what a packet of rays meets, piece by piece, front to back. One for each thread.
class PacketShader {
  public:
    /// `depth`: whether depth is wanted.
    PacketShader(const CastPlan& plan, bool depth);

    /// Begin with empty pixels. The packet must stay as long as it is drawn.
    void begin_packet(const RayPacket& packet);
    /// The packet is done: count in which layers it was seen.
    const PacketPixels& end_packet();

    /// An opacity of one colour at a distance.
    void blend_line(Mask rays, const Rgba& color, Floats opacity, Floats distance);

    /// Slices at these distances and iso-surfaces that are crossed between the span's ends, nearest
    /// first, with the media between them. `slices`: one for each of the plan's, infinite where a
    /// ray does not meet it in the span; `may_cross`: whether there may be iso-surfaces.
    void shade_segment(const VisibleBlock& block, Mask rays, const RaySegment& segment,
                       const std::vector<Floats>& slices, bool may_cross);
    /// Slices alone.
    void shade_slices(const VisibleBlock& block, Mask rays, const std::vector<Floats>& slices);

    /// Colour the opaque iso-surfaces at which rays have ended: all of a block at once, because
    /// gradients cost more than the way to the surface.
    void shade_deferred(const VisibleBlock& block);

    /// What has been gathered so far.
    PacketPixels pixels;
    void mark_seen(std::size_t layer, Mask rays) { seen_[layer] = seen_[layer] | rays; }
    /// Depth of points at a distance from where rays enter the domain.
    [[nodiscard]] UZUSHIO_INLINE Floats depth_of(Floats distance) const {
        return (packet_->enter + distance) * packet_->cosine;
    }
    [[nodiscard]] bool depth() const { return depth_; }

    /// Values of all channels.
    void sample(const VisibleBlock& block, const SamplePositions& positions, Mask rays,
                Floats* values) const;

    /// For each layer, pixels in which it was seen, of all packets so far.
    [[nodiscard]] const std::vector<std::int64_t>& hits() const { return hits_; }
    /// PacketPixels in which a slice, or a surface coloured by another field, showed a value that
    /// is not finite, of all packets so far.
    [[nodiscard]] std::int64_t nonfinite_pixels() const { return nonfinite_pixels_; }

  private:
    void add_slices(const std::vector<Floats>& slices, Mask rays, const RaySegment& segment);
    void shade_crossings(const VisibleBlock& block, Mask rays, const RaySegment& segment);
    void integrate_volumes(const VisibleBlock& block, Mask rays, const RaySegment& segment);
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
    // Of the packet that is being drawn.
    const RayPacket* packet_ = nullptr;
    std::vector<Mask> seen_; ///< by layer
    CrossingFinder finder_;
    std::vector<Crossing> crossings_; ///< with surfaces within a segment
    struct DeferredHits {
        Mask rays{};
        Floats distance{}, weight{};
    };
    std::vector<DeferredHits> deferred_; ///< rays at each iso-surface, which is not yet coloured
    std::vector<Floats> before_, until_; ///< values of channels about events
};

} // namespace uzushio::raycast
