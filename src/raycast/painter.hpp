#pragma once

#include <cstdint>
#include <vector>

#include "raycast/crossing.hpp"
#include "raycast/packet.hpp"
#include "raycast/pixels.hpp"
#include "raycast/plan.hpp"
#include "raycast/span.hpp"

namespace uzushio::raycast {

/// Draws what a packet of rays meets, piece by piece, front to back. One for each thread.
class Painter {
  public:
    /// `depth`: whether depth is wanted.
    Painter(const Plan& plan, bool depth);

    /// Begin with empty pixels. The packet must stay as long as it is drawn.
    void begin(const Packet& packet);
    /// The packet is done: count in which layers it was seen.
    const Pixels& end();

    /// An opacity of one colour at a distance.
    void line(Mask rays, const Rgba& color, Floats opacity, Floats distance);

    /// Slices at these distances and iso-surfaces that are crossed between the span's ends, nearest
    /// first, with the media between them. `slices`: one for each of the plan's, infinite where a
    /// ray does not meet it in the span; `isos`: whether there may be iso-surfaces.
    void segment(const Part& part, Mask rays, const Span& span, const std::vector<Floats>& slices,
                 bool isos);
    /// Slices alone.
    void slices(const Part& part, Mask rays, const std::vector<Floats>& slices);

    /// Colour the opaque iso-surfaces at which rays have ended: all of a part at once, because
    /// gradients cost more than the way to the surface.
    void finish(const Part& part);

    /// What has been gathered so far.
    Pixels pixels;
    void saw(std::size_t layer, Mask rays) { seen_[layer] = seen_[layer] | rays; }
    /// Depth of points at a distance from where rays enter the domain.
    [[nodiscard]] UZUSHIO_INLINE Floats depth_of(Floats distance) const {
        return (packet_->enter + distance) * packet_->cosine;
    }
    [[nodiscard]] bool depth() const { return depth_; }

    /// Values of all channels.
    void sample(const Part& part, const Places& at, Mask rays, Floats* values) const;

    /// For each layer, pixels in which it was seen, of all packets so far.
    [[nodiscard]] const std::vector<std::int64_t>& hits() const { return hits_; }
    /// Pixels in which a slice, or a surface coloured by another field, showed a value that is not
    /// finite, of all packets so far.
    [[nodiscard]] std::int64_t bad_pixels() const { return bad_pixels_; }

  private:
    void add_slices(const std::vector<Floats>& slices, Mask rays, const Span& span);
    void events(const Part& part, Mask rays, const Span& span);
    void media(const Part& part, Mask rays, const Span& span);
    void surface(const Part& part, std::size_t number, Mask rays, Floats distance);
    Colors color(const Part& part, const Surface& surface, Mask rays, Floats distance);
    void blend(Mask rays, const Colors& colors, Floats distance);
    [[nodiscard]] Colors lit(const Lighting& lighting, const Colors& colors, const Part& part,
                             std::size_t field, double shift, const Places& at) const;

    const Plan& plan_;
    bool depth_;
    std::vector<std::int64_t> hits_;
    std::int64_t bad_pixels_ = 0;
    // Of the packet that is being drawn.
    const Packet* packet_ = nullptr;
    std::vector<Mask> seen_; ///< by layer
    CrossingFinder finder_;
    std::vector<Crossing> crossings_; ///< with surfaces within a segment
    struct Ended {
        Mask rays{};
        Floats distance{}, weight{};
    };
    std::vector<Ended> ended_;           ///< rays at each iso-surface, which is not yet coloured
    std::vector<Floats> before_, until_; ///< values of channels about events
};

} // namespace uzushio::raycast
