#include "raycast/axis.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace uzushio::raycast {

namespace {

constexpr double even_within = 1e-3; // of a spacing
constexpr int most_bins = 16384;     // so that positions keep 10 bits within a bin

} // namespace

Axis::Axis(std::span<const double> points) : points_(points.begin(), points.end()) {
    const auto count = static_cast<int>(points.size());
    if (count < 2)
        throw std::invalid_argument("an axis of the domain needs two points or more");
    double finest = points[1] - points[0];
    for (int i = 0; i + 1 < count; ++i)
        finest = std::min(finest, points[i + 1] - points[i]);
    if (!(finest > 0) || !std::isfinite(high() - low()))
        throw std::invalid_argument("the coordinates of the domain must rise");
    last_cell_ = count - 2;
    const double spacing = (high() - low()) / (count - 1);
    for (int i = 0; i < count; ++i)
        even_ = even_ && std::abs(points[i] - (low() + i * spacing)) <= even_within * spacing;

    const int bins =
        even_
            ? count - 1
            : static_cast<int>(std::clamp((high() - low()) / finest + 1, static_cast<double>(count),
                                          static_cast<double>(most_bins)));
    bins_ = static_cast<float>(bins);
    scale_ = bins / (high() - low());
    edges_.resize(count);
    for (int i = 0; i < count; ++i)
        edges_[i] =
            even_ ? static_cast<float>(i) : static_cast<float>((points[i] - low()) * scale_);
    if (even_)
        return;
    edges_.back() = bins_;
    inverse_.resize(count - 1);
    for (int i = 0; i + 1 < count; ++i)
        inverse_[i] = 1 / std::max(edges_[i + 1] - edges_[i], 1e-30F);
    for (int i = 0; i + 1 < count; ++i)
        narrowest_.push_back(std::max(edges_[i + 1] - edges_[i], 1.0F));
    for (int width = 2; width <= cells(); width *= 2) {
        const std::size_t before = narrowest_.size() - cells();
        for (int i = 0; i < cells(); ++i)
            narrowest_.push_back(std::min(
                narrowest_[before + i], narrowest_[before + std::min(i + width / 2, cells() - 1)]));
    }
    first_.resize(bins);
    int cell = 0;
    for (int bin = 0; bin < bins; ++bin) {
        while (cell < last_cell_ && edges_[cell + 1] <= static_cast<float>(bin))
            ++cell;
        first_[bin] = cell;
        int last = cell;
        while (last < last_cell_ && edges_[last + 1] < static_cast<float>(bin + 1))
            ++last;
        corrections_ = std::max(corrections_, last - cell);
    }
}

Axis::Limits Axis::limits(std::int32_t first_point, std::int32_t last_point) const {
    // Just below the last point, so that the cell that is found ends there.
    return {edges_[first_point], std::nextafter(edges_[last_point], 0.0F)};
}

} // namespace uzushio::raycast
