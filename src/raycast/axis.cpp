#include "raycast/axis.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace uzushio::raycast {

namespace {

constexpr double uniform_tolerance = 1e-3; // of a spacing
constexpr int max_bins = 16384;            // leaves 10 bits for the position within a bin

} // namespace

Axis::Axis(std::span<const double> points) : points_(points.begin(), points.end()) {
    const auto count = static_cast<int>(points.size());
    if (count < 2)
        throw std::invalid_argument("an axis of the domain needs two points or more");
    double finest = points[1] - points[0];
    for (int i = 0; i + 1 < count; ++i)
        finest = std::min(finest, points[i + 1] - points[i]);
    if (!(finest > 0) || !std::isfinite(high() - low()))
        throw std::invalid_argument("the coordinates of the domain must increase");
    last_cell_ = count - 2;
    const double spacing = (high() - low()) / (count - 1);
    for (int i = 0; i < count; ++i)
        uniform_ =
            uniform_ && std::abs(points[i] - (low() + i * spacing)) <= uniform_tolerance * spacing;

    const int bins =
        uniform_
            ? count - 1
            : static_cast<int>(std::clamp((high() - low()) / finest + 1, static_cast<double>(count),
                                          static_cast<double>(max_bins)));
    bins_ = static_cast<float>(bins);
    scale_ = bins / (high() - low());
    point_positions_.resize(count);
    for (int i = 0; i < count; ++i)
        point_positions_[i] =
            uniform_ ? static_cast<float>(i) : static_cast<float>((points[i] - low()) * scale_);
    if (uniform_)
        return;
    point_positions_.back() = bins_;
    inverse_widths_.resize(count - 1);
    for (int i = 0; i + 1 < count; ++i)
        inverse_widths_[i] = 1 / std::max(point_positions_[i + 1] - point_positions_[i], 1e-30F);
    for (int i = 0; i + 1 < count; ++i)
        min_widths_.push_back(std::max(point_positions_[i + 1] - point_positions_[i], 1.0F));
    for (int width = 2; width <= cells(); width *= 2) {
        const std::size_t before = min_widths_.size() - cells();
        for (int i = 0; i < cells(); ++i)
            min_widths_.push_back(
                std::min(min_widths_[before + i],
                         min_widths_[before + std::min(i + width / 2, cells() - 1)]));
    }
    first_cells_.resize(bins);
    int cell = 0;
    for (int bin = 0; bin < bins; ++bin) {
        while (cell < last_cell_ && point_positions_[cell + 1] <= static_cast<float>(bin))
            ++cell;
        first_cells_[bin] = cell;
        int last = cell;
        while (last < last_cell_ && point_positions_[last + 1] < static_cast<float>(bin + 1))
            ++last;
        max_points_in_bin_ = std::max(max_points_in_bin_, last - cell);
    }
}

Axis::Limits Axis::limits(std::int32_t first_point, std::int32_t last_point) const {
    // Just below the last point, so that the last cell ends there.
    return {point_positions_[first_point], std::nextafter(point_positions_[last_point], 0.0F)};
}

} // namespace uzushio::raycast
