#pragma once

#include <limits>
#include <vector>

#include "raycast/camera.hpp"
#include "raycast/ray_packet.hpp"

namespace uzushio::raycast {

/// Rectangle of pixels, ends exclusive.
struct PixelRect {
    int left = 0, right = 0, top = 0, bottom = 0;

    [[nodiscard]] bool empty() const { return left >= right || top >= bottom; }
    [[nodiscard]] PixelRect united(const PixelRect& other) const;
};

/// Part of a picture in which something may be visible: a range of columns for each row of packets.
class ScreenFootprint {
  public:
    ScreenFootprint(const Camera& camera, int width, int height)
        : camera_(&camera), width_(width), height_(height),
          rows_((height + RayPacket::side - 1) / RayPacket::side) {}

    /// Add a box of the domain and `margin` pixels around it.
    void add(const Vector3& low, const Vector3& high, double margin);

    /// Return whether the packet with this upper left pixel overlaps it.
    [[nodiscard]] bool overlaps(int column, int row) const {
        const ColumnRange& here = rows_[row / RayPacket::side];
        return column < here.right && here.left < column + RayPacket::side;
    }
    /// Return the bounding rectangle.
    [[nodiscard]] PixelRect bounding_rect() const;

  private:
    struct ColumnRange {
        int left = std::numeric_limits<int>::max(), right = std::numeric_limits<int>::min();
    };
    void add_edge(const Vector3& from, const Vector3& to, double margin);

    const Camera* camera_;
    int width_, height_;
    std::vector<ColumnRange> rows_;
};

} // namespace uzushio::raycast
