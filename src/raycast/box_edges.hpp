#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "raycast/camera.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// A pixel that an edge of the domain's box goes through.
struct EdgePixel {
    std::int32_t packet; ///< number of its packet
    std::int32_t lane;
    float coverage;                ///< part of the pixel that the line covers
    float distance;                ///< from the camera, along the ray
    std::array<float, 3> position; ///< of the point of the edge, in lookup space
};

/// The edges of the domain's box as lines of some width on the picture, smoothed.
class BoxEdges {
  public:
    /// None if the scene shows no box.
    BoxEdges(const Scene& scene, const Camera& camera, int width, int height);

    /// PacketPixels in the packet whose upper left pixel this is.
    [[nodiscard]] std::span<const EdgePixel> packet(int column, int row) const;

  private:
    void draw(const Scene& scene, const Camera& camera, int width, int height, Vector3 from,
              Vector3 to);

    int columns_ = 0; ///< of packets
    std::vector<EdgePixel> pixels_;
    std::vector<std::int32_t> begin_; ///< of each packet's pixels; one more at the end
};

} // namespace uzushio::raycast
