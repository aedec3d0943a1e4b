#pragma once

#include <limits>
#include <vector>

#include "raycast/camera.hpp"
#include "raycast/ray_packet.hpp"

namespace uzushio::raycast {

/// Columns and rows, ends exclusive.
struct PixelRect {
    int left = 0, right = 0, top = 0, bottom = 0;

    [[nodiscard]] bool empty() const { return left >= right || top >= bottom; }
    [[nodiscard]] PixelRect united(const PixelRect& other) const;
};

/// Where in a picture something may be seen: for each row of packets, columns from and to.
class ScreenFootprint {
  public:
    ScreenFootprint(const Camera& camera, int width, int height)
        : camera_(&camera), width_(width), height_(height),
          rows_((height + RayPacket::side - 1) / RayPacket::side) {}

    /// Take in a box of the domain and `margin` pixels around it.
    void add(const Vector3& low, const Vector3& high, double margin);

    /// Whether the packet with this upper left pixel may show any of it.
    [[nodiscard]] bool overlaps(int column, int row) const {
        const ColumnRange& here = rows_[row / RayPacket::side];
        return column < here.right && here.left < column + RayPacket::side;
    }
    /// What holds all of it.
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
