#pragma once

#include <cstdint>
#include <vector>

#include "raycast/packet.hpp"
#include "raycast/plan.hpp"

namespace uzushio::raycast {

/// Draws packets of rays through all blocks, front to back. One for each thread.
class Marcher {
  public:
    /// `depth`: whether depth is wanted.
    Marcher(const Plan& plan, bool depth);

    /// What rays have gathered.
    struct Pixels {
        Floats red{}, green{}, blue{}; ///< premultiplied
        Floats left = floats(1);       ///< what of the background still shines through
        Floats depth = floats(infinity);
    };

    /// Draw the packet whose upper left pixel this is.
    Pixels draw(int column, int row);

    /// For each layer, pixels in which it was seen, of all packets so far.
    [[nodiscard]] const std::vector<std::int64_t>& hits() const { return hits_; }
    /// Pixels of slices that showed a value which is not a number, of all packets so far.
    [[nodiscard]] std::int64_t nan_pixels() const { return nan_pixels_; }

  private:
    /// Segments of each ray whose middles are in a block's own cells.
    struct Owned {
        Mask any;
        Ints first, last;
    };
    /// Two distances of each ray, and the values of all channels there.
    struct Span {
        Floats begin, end;
        const Floats* first;
        const Floats* second;
    };

    /// Edges of the domain's box, as opacities of pixels.
    struct Lines {
        Floats front{}, back{};           ///< on the near and far side of the domain
        Floats beside{};                  ///< of rays that miss the domain
        std::array<Floats, 3> position{}; ///< of the latter
        Floats distance{};                ///< and from the camera
    };

    Lines lines(int column, int row) const;
    void draw_line(Mask rays, Floats opacity, Floats distance);
    Owned owned(const Part& part) const;
    Ints bricks(const Part& part, const Places& at) const;
    Ints free_until(const Part& part, const Places& at, Ints distance) const;
    void march(const Part& part);
    void cut(const Part& part);
    std::int32_t next_event(std::int32_t from) const;
    void segment(const Part& part, Mask rays, std::int32_t number, const Span& span);
    bool find_crossings(const Part& part, Mask rays, const Span& span);
    Floats crossing(const Part& part, const Surface& surface, Mask rays, const Span& span) const;
    void events(const Part& part, Mask rays, const Span& span);
    void clouds(const Part& part, Mask rays, const Span& span);
    void surface(const Part& part, const Surface& surface, Mask rays, Floats distance);
    void sample(const Part& part, const Places& at, Mask rays, Floats* values) const;
    bool burst(const Part& part, const Owned& mine, Mask alive, std::int32_t& number,
               std::int32_t end, Places& places);
    void blend(Mask rays, const Colors& colors, Floats distance);
    void reached(Pixels& pixels, Floats before, Mask rays, Floats distance) const;
    [[nodiscard]] Colors light(const Lighting& lighting, Colors colors, const Part& part,
                               std::size_t field, double shift, const Places& at) const;

    const Plan& plan_;
    bool depth_;
    /// Whether there is one channel with, at most, one volume without shading: see `burst`.
    bool plain_;
    float step_;
    std::vector<Floats> iso_values_;
    std::vector<std::int64_t> hits_;
    std::int64_t nan_pixels_ = 0;
    // Of the packet that is being drawn.
    const Packet* packet_ = nullptr;
    Pixels pixels_;
    std::vector<Mask> seen_;             ///< by layer
    std::vector<Floats> plane_;          ///< distance to each slice
    std::vector<Ints> plane_segment_;    ///< and its segment, if it is the block's
    std::vector<Floats> event_;          ///< distance to each surface within a segment
    std::vector<Floats> front_, back_;   ///< values of channels at a segment's ends
    std::vector<Floats> before_, until_; ///< and about events in it
};

} // namespace uzushio::raycast
