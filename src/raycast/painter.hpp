#pragma once

#include <cstdint>
#include <vector>

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

    /// Slices at these distances and surfaces that are crossed between the span's ends, nearest
    /// first, with the media between them. `slices`: one for each of the plan's, infinite where a
    /// ray does not meet it in the span.
    void segment(const Part& part, Mask rays, const Span& span, const std::vector<Floats>& slices);
    /// Slices alone.
    void slices(const Part& part, Mask rays, const std::vector<Floats>& slices);

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
    bool find_crossings(const Part& part, Mask rays, const Span& span);
    void events(const Part& part, Mask rays, const Span& span);
    void media(const Part& part, Mask rays, const Span& span);
    void surface(const Part& part, const Surface& surface, Mask rays, Floats distance);
    void blend(Mask rays, const Colors& colors, Floats distance);
    [[nodiscard]] Colors lit(const Lighting& lighting, const Colors& colors, const Part& part,
                             std::size_t field, double shift, const Places& at) const;

    const Plan& plan_;
    bool depth_;
    std::vector<std::int64_t> hits_;
    std::int64_t bad_pixels_ = 0;
    // Of the packet that is being drawn.
    const Packet* packet_ = nullptr;
    std::vector<Mask> seen_;             ///< by layer
    std::vector<Floats> event_;          ///< distance to each surface within a segment
    std::vector<Floats> before_, until_; ///< values of channels about events
};

} // namespace uzushio::raycast
