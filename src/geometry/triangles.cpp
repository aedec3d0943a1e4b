#include "geometry/triangles.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace uzushio::geometry {

using domain::Vector;

namespace {

/// Maximum number of bins that a triangle is in, averaged over the triangles.
constexpr std::size_t max_mean_bins = 8;

Vector cross(const Vector& a, const Vector& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double length(const Vector& a) { return std::hypot(a[0], a[1], a[2]); }

/// Return the unit normal; of a triangle whose corners are on a line, a unit vector normal to it.
Vector unit_normal(const Triangle& triangle) {
    Vector first = minus(triangle[1], triangle[0]);
    Vector second = minus(triangle[2], triangle[0]);
    for (Vector* side : {&first, &second}) {
        const double size = length(*side);
        for (double& component : *side)
            component /= size;
    }
    Vector normal = cross(first, second);
    if (!(length(normal) > 0)) {
        const auto smallest = std::min_element(first.begin(), first.end(), [](double a, double b) {
            return std::abs(a) < std::abs(b);
        });
        Vector axis{};
        axis[static_cast<std::size_t>(smallest - first.begin())] = 1;
        normal = cross(first, axis);
    }
    const double size = length(normal);
    for (double& component : normal)
        component /= size;
    return normal;
}

/// Leave out triangles that are there twice, with the same sense.
void erase_repeated(std::vector<Triangle>& triangles) {
    std::vector<std::pair<Triangle, std::size_t>> all; // beginning with the smallest corner
    for (std::size_t t = 0; t < triangles.size(); ++t) {
        all.emplace_back(triangles[t], t);
        Triangle& corners = all.back().first;
        std::rotate(corners.begin(), std::min_element(corners.begin(), corners.end()),
                    corners.end());
    }
    std::sort(all.begin(), all.end());
    std::vector<bool> repeated(triangles.size());
    for (std::size_t n = 1; n < all.size(); ++n)
        repeated[all[n].second] = all[n].first == all[n - 1].first;
    std::size_t number = 0;
    std::erase_if(triangles, [&](const Triangle&) { return repeated[number++]; });
}

/// Return the number of sides that belong to an odd number of triangles.
std::int64_t count_open_sides(const std::vector<Triangle>& triangles) {
    std::vector<std::pair<Vector, Vector>> sides;
    sides.reserve(3 * triangles.size());
    for (const Triangle& triangle : triangles)
        for (std::size_t n = 0; n < 3; ++n)
            sides.push_back(std::minmax(triangle[n], triangle[(n + 1) % 3]));
    std::sort(sides.begin(), sides.end());
    std::int64_t open = 0;
    for (auto side = sides.begin(); side != sides.end();) {
        const auto next = std::upper_bound(side, sides.end(), *side);
        open += (next - side) % 2;
        side = next;
    }
    return open;
}

} // namespace

Triangles::Bins::Bins(const std::vector<Triangle>& triangles, const Bounds& bounds,
                      std::size_t axis)
    : axes_{(axis + 1) % 3, (axis + 2) % 3} {
    std::array<double, 2> extent;
    for (std::size_t d = 0; d < 2; ++d) {
        origin_[d] = bounds.lower[axes_[d]];
        extent[d] = bounds.upper[axes_[d]] - origin_[d];
    }
    const double aspect = extent[0] > 0 && extent[1] > 0 ? extent[0] / extent[1] : 1;
    auto wanted = static_cast<double>(triangles.size()); // bins
    while (true) {
        const double limit = std::max(1.0, wanted);
        counts_[0] = static_cast<std::size_t>(std::clamp(std::sqrt(wanted * aspect), 1.0, limit));
        counts_[1] = static_cast<std::size_t>(std::clamp(std::sqrt(wanted / aspect), 1.0, limit));
        for (std::size_t d = 0; d < 2; ++d)
            width_[d] = extent[d] / static_cast<double>(counts_[d]);
        const auto for_bins = [&](const Triangle& triangle, const auto& call) {
            std::array<std::size_t, 2> lower, upper;
            for (std::size_t d = 0; d < 2; ++d) {
                const std::size_t a = axes_[d];
                const auto [low, high] =
                    std::minmax({triangle[0][a], triangle[1][a], triangle[2][a]});
                lower[d] = bin(d, low);
                upper[d] = bin(d, high);
            }
            for (std::size_t j = lower[1]; j <= upper[1]; ++j)
                for (std::size_t i = lower[0]; i <= upper[0]; ++i)
                    call(j * counts_[0] + i);
        };
        first_.assign(counts_[0] * counts_[1] + 1, 0);
        std::size_t entries = 0;
        for (const Triangle& triangle : triangles) {
            for_bins(triangle, [&](std::size_t bin) {
                ++first_[bin + 1];
                ++entries;
            });
            if (entries > max_mean_bins * triangles.size() && first_.size() > 2)
                break;
        }
        if (entries > max_mean_bins * triangles.size() && first_.size() > 2) {
            wanted /= 4;
            continue;
        }
        for (std::size_t bin = 1; bin < first_.size(); ++bin)
            first_[bin] += first_[bin - 1];
        numbers_.resize(entries);
        std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
        for (std::size_t n = 0; n < triangles.size(); ++n)
            for_bins(triangles[n], [&](std::size_t bin) {
                numbers_[next[bin]++] = static_cast<std::uint32_t>(n);
            });
        return;
    }
}

std::size_t Triangles::Bins::bin(std::size_t direction, double position) const {
    if (!(width_[direction] > 0))
        return 0;
    const double number = (position - origin_[direction]) / width_[direction];
    const auto last = static_cast<double>(counts_[direction] - 1);
    return static_cast<std::size_t>(std::clamp(number, 0.0, last));
}

template <class Visit> void Triangles::Bins::visit(const Vector& point, const Visit& visit) const {
    const std::size_t at = bin(1, point[axes_[1]]) * counts_[0] + bin(0, point[axes_[0]]);
    for (std::size_t n = first_[at]; n < first_[at + 1]; ++n)
        visit(numbers_[n]);
}

Triangles::Triangles(std::vector<Triangle> triangles) : triangles_(std::move(triangles)) {
    std::erase_if(triangles_, has_equal_corners);
    erase_repeated(triangles_);
    if (triangles_.empty())
        throw std::invalid_argument("a surface needs triangles");
    bounds_ = {triangles_[0][0], triangles_[0][0]};
    normals_.reserve(triangles_.size());
    for (const Triangle& triangle : triangles_) {
        normals_.push_back(unit_normal(triangle));
        for (const Vector& corner : triangle)
            for (std::size_t a = 0; a < 3; ++a) {
                bounds_.lower[a] = std::min(bounds_.lower[a], corner[a]);
                bounds_.upper[a] = std::max(bounds_.upper[a], corner[a]);
            }
    }
    open_sides_ = count_open_sides(triangles_);
    orientation_ = orientation_of(triangles_);
    for (std::size_t axis = 0; axis < 3; ++axis)
        bins_.emplace_back(triangles_, bounds_, axis);
}

void Triangles::crossings(std::size_t axis, const Vector& point,
                          std::vector<Crossing>& crossings) const {
    const std::size_t b = (axis + 1) % 3, c = (axis + 2) % 3;
    for (const std::size_t a : {b, c})
        if (!(bounds_.lower[a] <= point[a] && point[a] <= bounds_.upper[a]))
            return;
    bins_[axis].visit(point, [&](std::size_t n) {
        const int turns = turns_around(triangles_[n], axis, point);
        if (turns == 0)
            return;
        const int turn = orientation_.undecided ? 0 : turns * orientation_.sense[n];
        crossings.push_back({height(triangles_[n], axis, point), normals_[n], turn});
    });
}

} // namespace uzushio::geometry
