#include "raycast/surface_painter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace uzushio::raycast {

namespace {

/// Height of the bands of rows that threads draw.
constexpr int band_rows = 16;
/// Material of lit surfaces.
constexpr float ambient = 0.2F, diffuse = 0.8F, specular = 0.2F;

/// Point of a surface in the picture. What follows the position is linear in the picture.
struct Projected {
    double x, y;
    /// Weight (inverse depth, or 1 for a parallel view); depth, place in the colours, and normal,
    /// times the weight.
    std::array<float, 6> linear;
};

constexpr std::size_t weight_at = 0, depth_at = 1, place_at = 2, normal_at = 3;

std::size_t size(int n) { return static_cast<std::size_t>(n); }

/// One surface, projected onto the picture.
class Painter {
  public:
    Painter(const TriangleSurface& surface, const Paint& paint, const Camera& camera, int width,
            int height, int threads)
        : surface_(surface), paint_(paint), forward_(camera.forward), width_(width),
          height_(height), lit_(paint.lit && !surface.normals.empty()),
          points_(surface.points.size()) {
        const double* values = paint.field < 0 ? nullptr : surface.values[size(paint.field)].data();
        const double scale = paint.high > paint.low ? 1 / (paint.high - paint.low) : 0;
        const auto count = static_cast<std::ptrdiff_t>(points_.size());
#pragma omp parallel for schedule(static) num_threads(threads)
        for (std::ptrdiff_t n = 0; n < count; ++n) {
            const auto at = static_cast<std::size_t>(n);
            const Vector3 p = camera.project(surface.points[at], width, height);
            const auto weight = static_cast<float>(camera.perspective ? 1 / p[2] : 1);
            Projected& to = points_[at];
            to = {p[0], p[1], {weight, weight * static_cast<float>(p[2])}};
            if (values)
                to.linear[place_at] = weight * static_cast<float>((values[at] - paint.low) * scale);
            for (std::size_t c = 0; c < 3 && lit_; ++c)
                to.linear[normal_at + c] = weight * surface.normals[at][c];
        }
        bin();
    }

    /// Draw the rows of a band.
    void draw(int band, DepthPixel* out) const {
        for (auto n = first_[size(band)]; n < first_[size(band) + 1]; ++n)
            draw_triangle(surface_.triangles[sorted_[n]], band * band_rows,
                          std::min(height_, (band + 1) * band_rows), out);
    }

  private:
    /// First pixel whose centre is not before a position.
    static int pixel_from(double position, int limit) {
        return static_cast<int>(std::clamp(std::ceil(position - 0.5), 0.0, double(limit)));
    }

    /// Sort the triangles by bands; one in several bands is in the list of each.
    void bin() {
        const std::size_t bands = size((height_ + band_rows - 1) / band_rows);
        first_.assign(bands + 2, 0);
        const auto each = [&](auto&& take) {
            for (std::uint32_t n = 0; n < surface_.triangles.size(); ++n) {
                const auto& [a, b, c] = surface_.triangles[n];
                const auto [low, high] = std::minmax({points_[a].y, points_[b].y, points_[c].y});
                const int begin = pixel_from(low, height_), end = pixel_from(high, height_);
                for (int band = begin / band_rows; band * band_rows < end; ++band)
                    take(size(band), n);
            }
        };
        each([&](std::size_t band, std::uint32_t) { ++first_[band + 2]; });
        for (std::size_t band = 2; band < first_.size(); ++band)
            first_[band] += first_[band - 1];
        sorted_.resize(first_.back());
        each([&](std::size_t band, std::uint32_t n) { sorted_[first_[band + 1]++] = n; });
    }

    /// Column at which an edge crosses a row; the same for both triangles of the edge.
    static double crossing(const Projected* a, const Projected* b, double y) {
        return a->x + (y - a->y) * ((b->x - a->x) / (b->y - a->y));
    }

    void draw_triangle(const std::array<std::uint32_t, 3>& corners, int top, int bottom,
                       DepthPixel* out) const {
        std::array<const Projected*, 3> p{&points_[corners[0]], &points_[corners[1]],
                                          &points_[corners[2]]};
        std::sort(p.begin(), p.end(), [](const Projected* a, const Projected* b) {
            return std::pair(a->y, a->x) < std::pair(b->y, b->x);
        });
        const double ux = p[1]->x - p[0]->x, uy = p[1]->y - p[0]->y, vx = p[2]->x - p[0]->x,
                     vy = p[2]->y - p[0]->y, area = ux * vy - uy * vx;
        if (!(std::abs(area) > 1e-12))
            return;
        const std::size_t used = lit_ ? 6 : 3;
        std::array<float, 6> along_x{}, along_y{}, low{}, high{};
        for (std::size_t n = 0; n < used; ++n) {
            const float a = p[0]->linear[n], b = p[1]->linear[n], c = p[2]->linear[n];
            along_x[n] = static_cast<float>(((b - a) * vy - (c - a) * uy) / area);
            along_y[n] = static_cast<float>(((c - a) * ux - (b - a) * vx) / area);
            low[n] = std::min({a, b, c}), high[n] = std::max({a, b, c});
        }
        const int begin = std::max(pixel_from(p[0]->y, height_), top);
        const int end = std::min(pixel_from(p[2]->y, height_), bottom);
        for (int row = begin; row < end; ++row) {
            const double y = row + 0.5;
            const double a = crossing(p[0], p[2], y);
            const double b = y < p[1]->y ? crossing(p[0], p[1], y) : crossing(p[1], p[2], y);
            const int from = pixel_from(std::min(a, b), width_);
            const int to = pixel_from(std::max(a, b), width_);
            std::array<float, 6> start{};
            for (std::size_t n = 0; n < used; ++n)
                start[n] = p[0]->linear[n] + along_y[n] * static_cast<float>(y - p[0]->y) +
                           along_x[n] * static_cast<float>(from + 0.5 - p[0]->x);
            DepthPixel* pixel = out + static_cast<std::ptrdiff_t>(row) * width_ + from;
            for (int x = from; x < to; ++x, ++pixel) {
                std::array<float, 6> at;
                for (std::size_t n = 0; n < 6; ++n)
                    at[n] = start[n] + along_x[n] * static_cast<float>(x - from);
                // The plane of a narrow triangle is steep: rounding must not leave its values.
                for (std::size_t n = 0; n < 3; ++n)
                    at[n] = at[n] < low[n] ? low[n] : at[n] > high[n] ? high[n] : at[n];
                const float inverse = 1 / at[weight_at], depth = at[depth_at] * inverse;
                if (depth < pixel->depth)
                    *pixel = {shaded(color(at[place_at] * inverse), at), depth};
            }
        }
    }

    /// Return the colour at a place: 0 at the low limit, 1 at the high one.
    std::array<std::uint8_t, 4> color(float place) const {
        if (paint_.field < 0)
            return paint_.color;
        const auto rows = paint_.table.size() - 3;
        if (!std::isfinite(place))
            return paint_.table.back();
        if (place < 0 || place > 1)
            return paint_.table[place < 0 ? 0 : rows + 1];
        if (paint_.logarithmic) {
            const auto ratio = static_cast<float>(paint_.high / paint_.low);
            place = std::log(1 + place * (ratio - 1)) / std::log(ratio);
        }
        return paint_.table[1 + std::min(static_cast<std::size_t>(place * float(rows)), rows - 1)];
    }

    std::array<std::uint8_t, 4> shaded(std::array<std::uint8_t, 4> color,
                                       const std::array<float, 6>& at) const {
        if (!lit_)
            return color;
        const float* n = &at[normal_at];
        const float length = std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        const float across =
            n[0] * float(forward_[0]) + n[1] * float(forward_[1]) + n[2] * float(forward_[2]);
        const float cosine = length > 0 ? std::abs(across) / length : 1;
        const float reflected = std::max(2 * cosine * cosine - 1, 0.0F);
        const float r2 = reflected * reflected, r4 = r2 * r2, r8 = r4 * r4, r16 = r8 * r8;
        const float light = ambient + diffuse * cosine, shine = 255 * specular * r16 * r8 * r4 * r2;
        for (std::size_t c = 0; c < 3; ++c)
            color[c] = static_cast<std::uint8_t>(
                std::min(light * static_cast<float>(color[c]) + shine + 0.5F, 255.0F));
        return color;
    }

    const TriangleSurface& surface_;
    const Paint& paint_;
    Vector3 forward_;
    int width_, height_;
    bool lit_;
    std::vector<Projected> points_;
    std::vector<std::size_t> first_; ///< place in `sorted_` of each band's first triangle
    std::vector<std::uint32_t> sorted_;
};

} // namespace

void paint(std::span<const std::pair<const TriangleSurface*, Paint>> surfaces, const Camera& camera,
           int width, int height, DepthPixel* out, int threads) {
    const DepthPixel nothing{{0, 0, 0, 0}, std::numeric_limits<float>::infinity()};
    const int bands = (height + band_rows - 1) / band_rows;
    std::vector<TriangleSurface> in_front; // of a perspective camera
    in_front.reserve(surfaces.size());
    std::vector<Painter> painters;
    for (const auto& [surface, how] : surfaces) {
        const TriangleSurface* drawn = surface;
        double nearest = std::numeric_limits<double>::infinity(), farthest = 0;
        for (const auto& point : surface->points) {
            const double depth = dot(point - camera.position, camera.forward);
            nearest = std::min(nearest, depth), farthest = std::max(farthest, depth);
        }
        if (camera.perspective && nearest < 1e-3 * farthest)
            drawn = &in_front.emplace_back(clip(*surface,
                                                camera.position + 1e-3 * farthest * camera.forward,
                                                -1.0 * camera.forward));
        if (!camera.perspective || farthest > 0)
            painters.emplace_back(*drawn, how, camera, width, height, threads);
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int band = 0; band < bands; ++band) {
        DepthPixel* rows = out + static_cast<std::ptrdiff_t>(band) * band_rows * width;
        std::fill(rows,
                  rows + std::ptrdiff_t{std::min(band_rows, height - band * band_rows)} * width,
                  nothing);
        for (const Painter& painter : painters)
            painter.draw(band, out);
    }
}

} // namespace uzushio::raycast
