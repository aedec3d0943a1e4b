#include "raycast/box_edges.hpp"

#include <algorithm>
#include <cmath>

#include "raycast/ray_packet.hpp"

namespace uzushio::raycast {

namespace {

constexpr int side = RayPacket::side;

} // namespace

BoxEdges::BoxEdges(const Scene& scene, const Camera& camera, int width, int height) {
    if (!scene.bounding_box)
        return;
    columns_ = (width + side - 1) / side;
    const Vector3 low = scene.low(), high = scene.high();
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (int corner = 0; corner < 4; ++corner) {
            Vector3 from = low;
            from[(axis + 1) % 3] = (corner & 1) != 0 ? high[(axis + 1) % 3] : low[(axis + 1) % 3];
            from[(axis + 2) % 3] = (corner & 2) != 0 ? high[(axis + 2) % 3] : low[(axis + 2) % 3];
            Vector3 to = from;
            to[axis] = high[axis];
            draw(scene, camera, width, height, from, to);
        }
    std::stable_sort(pixels_.begin(), pixels_.end(),
                     [](const auto& a, const auto& b) { return a.packet < b.packet; });
    begin_.resize(static_cast<std::size_t>(columns_) * ((height + side - 1) / side) + 1);
    for (const auto& pixel : pixels_)
        ++begin_[pixel.packet + 1];
    for (std::size_t i = 1; i < begin_.size(); ++i)
        begin_[i] += begin_[i - 1];
}

std::span<const EdgePixel> BoxEdges::packet(int column, int row) const {
    if (begin_.empty())
        return {};
    const std::size_t number = static_cast<std::size_t>(row / side) * columns_ + column / side;
    return std::span(pixels_).subspan(begin_[number], begin_[number + 1] - begin_[number]);
}

void BoxEdges::draw(const Scene& scene, const Camera& camera, int width, int height, Vector3 from,
                    Vector3 to) {
    // The part behind the camera is cut off.
    const double near = 1e-4 * norm(scene.high() - scene.low());
    double depth_from = dot(from - camera.position, camera.forward);
    double depth_to = dot(to - camera.position, camera.forward);
    if (depth_from < near && depth_to < near)
        return;
    if (depth_from < near)
        from = from + (near - depth_from) / (depth_to - depth_from) * (to - from);
    else if (depth_to < near)
        to = to + (near - depth_to) / (depth_from - depth_to) * (from - to);
    const Vector3 a = camera.project(from, width, height);
    const Vector3 b = camera.project(to, width, height);

    // Iterate over pixels along the axis of the picture on which the line is longer.
    const double dx = b[0] - a[0], dy = b[1] - a[1], square = dx * dx + dy * dy;
    const bool steep = std::abs(dy) > std::abs(dx);
    const std::size_t main = steep ? 1 : 0, other = steep ? 0 : 1;
    const double reach = scene.line_width / 2 + 0.5;
    const int limits[2] = {width, height};
    const auto clamp = [](double value, int limit) {
        return static_cast<int>(std::clamp(value, 0.0, static_cast<double>(limit)));
    };
    const int first = clamp(std::floor(std::min(a[main], b[main]) - reach), limits[main]);
    const int last = clamp(std::ceil(std::max(a[main], b[main]) + reach), limits[main]);
    const double slope = square > 0 ? (b[other] - a[other]) / (b[main] - a[main]) : 0;
    for (int i = first; i < last; ++i) {
        const double middle = a[other] + (i + 0.5 - a[main]) * slope;
        // The slope is at most 45 degrees; the ends are round.
        const int begin = clamp(std::floor(middle - 2 * reach), limits[other]);
        const int end = clamp(std::ceil(middle + 2 * reach), limits[other]);
        for (int j = begin; j < end; ++j) {
            const int column = steep ? j : i, row = steep ? i : j;
            const double px = column + 0.5 - a[0], py = row + 0.5 - a[1];
            const double along =
                square > 0 ? std::clamp((px * dx + py * dy) / square, 0.0, 1.0) : 0;
            const double away = std::hypot(px - along * dx, py - along * dy);
            const double coverage = std::min({reach - away, 1.0, scene.line_width});
            if (coverage <= 0)
                continue;
            const double weight_a = camera.perspective ? (1 - along) / a[2] : 1 - along;
            const double weight_b = camera.perspective ? along / b[2] : along;
            const double part = weight_b / (weight_a + weight_b);
            const Vector3 point = from + part * (to - from);
            EdgePixel pixel{};
            pixel.packet = row / side * columns_ + column / side;
            pixel.lane = row % side * side + column % side;
            pixel.coverage = static_cast<float>(coverage);
            pixel.distance = static_cast<float>(camera.perspective
                                                    ? norm(point - camera.position)
                                                    : dot(point - camera.position, camera.forward));
            for (std::size_t c = 0; c < 3; ++c)
                pixel.position[c] =
                    static_cast<float>((point[c] - scene.axes[c].low()) * scene.axes[c].scale());
            pixels_.push_back(pixel);
        }
    }
}

} // namespace uzushio::raycast
