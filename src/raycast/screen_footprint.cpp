#include "raycast/screen_footprint.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace uzushio::raycast {

PixelRect PixelRect::united(const PixelRect& other) const {
    if (empty())
        return other;
    if (other.empty())
        return *this;
    return {std::min(left, other.left), std::max(right, other.right), std::min(top, other.top),
            std::max(bottom, other.bottom)};
}

void ScreenFootprint::add(const Vector3& low, const Vector3& high, double margin) {
    const double near = 1e-6 * norm(high - low);
    std::array<Vector3, 8> corners, projected;
    int behind = 0;
    for (std::size_t corner = 0; corner < 8; ++corner) {
        for (std::size_t a = 0; a < 3; ++a)
            corners[corner][a] = (corner >> a) & 1 ? high[a] : low[a];
        behind += dot(corners[corner] - camera_->position, camera_->forward) <= near;
    }
    if (behind == 8)
        return;
    if (behind > 0 && camera_->perspective) {
        for (ColumnRange& row : rows_)
            row = {0, width_};
        return;
    }
    for (std::size_t corner = 0; corner < 8; ++corner)
        projected[corner] = camera_->project(corners[corner], width_, height_);
    // The left and right ends between two rows lie on edges of the box.
    for (std::size_t corner = 0; corner < 8; ++corner)
        for (std::size_t a = 0; a < 3; ++a)
            if (((corner >> a) & 1) == 0)
                add_edge(projected[corner], projected[corner | (1U << a)], margin);
}

void ScreenFootprint::add_edge(const Vector3& from, const Vector3& to, double margin) {
    const auto [top, bottom] = std::minmax(from[1], to[1]);
    const int side = RayPacket::side, rows = static_cast<int>(rows_.size());
    const auto row_of = [&](double at) {
        return static_cast<int>(std::clamp(std::floor(at / side), -1.0, static_cast<double>(rows)));
    };
    // An edge may lie beside the picture, with another edge on the other side of it.
    const auto column = [&](double at) {
        return static_cast<int>(std::clamp(at, -1.0, width_ + 1.0));
    };
    const int last = std::min(row_of(bottom + margin), rows - 1);
    for (int r = std::max(row_of(top - margin), 0); r <= last; ++r) {
        const auto along = [&](double y) {
            const double share = bottom > top ? (y - from[1]) / (to[1] - from[1]) : 0.0;
            return from[0] + std::clamp(share, 0.0, 1.0) * (to[0] - from[0]);
        };
        double left = std::min(from[0], to[0]), right = std::max(from[0], to[0]);
        if (bottom > top) {
            const auto ends =
                std::minmax({along(r * side - margin), along((r + 1) * side + margin)});
            left = ends.first;
            right = ends.second;
        }
        rows_[r].left = std::min(rows_[r].left, column(std::floor(left - margin)));
        rows_[r].right = std::max(rows_[r].right, column(std::ceil(right + margin)));
    }
}

PixelRect ScreenFootprint::bounding_rect() const {
    PixelRect result;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
        const int top = static_cast<int>(r) * RayPacket::side;
        result = result.united({std::max(rows_[r].left, 0), std::min(rows_[r].right, width_), top,
                                std::min(top + RayPacket::side, height_)});
    }
    return result;
}

} // namespace uzushio::raycast
