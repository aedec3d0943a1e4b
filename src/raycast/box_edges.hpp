#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "raycast/camera.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// Pixel on an edge of the domain's bounding box.
struct EdgePixel {
    std::int32_t packet; ///< index of its packet
    std::int32_t lane;
    float coverage;                ///< fraction of the pixel that the line covers
    float distance;                ///< from the camera, along the ray
    std::array<float, 3> position; ///< of the point on the edge, in lookup space
};

/// Edges of the domain's bounding box, as anti-aliased lines in the picture.
class BoxEdges {
  public:
    /// Find the pixels; none if the scene has no bounding box.
    BoxEdges(const Scene& scene, const Camera& camera, int width, int height);

    /// Return the pixels in the packet with this upper left pixel.
    [[nodiscard]] std::span<const EdgePixel> packet(int column, int row) const;

  private:
    void draw(const Scene& scene, const Camera& camera, int width, int height, Vector3 from,
              Vector3 to);

    int columns_ = 0; ///< of packets
    std::vector<EdgePixel> pixels_;
    std::vector<std::int32_t> begin_; ///< by packet, and the end of the last
};

} // namespace uzushio::raycast
