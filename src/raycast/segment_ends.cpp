#include "raycast/segment_ends.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace uzushio::raycast {

namespace {

/// Factor by which a segment may exceed its limit: rounding, and nearly uniform axes.
constexpr float tolerance = 1.01F;

} // namespace

SegmentEnds::SegmentEnds(const Scene& scene)
    : scene_(scene), step_(static_cast<float>(scene.step)) {
    for (std::size_t a = 0; a < 3; ++a) {
        const Axis& axis = scene.axes[a];
        if (axis.min_width() / axis.scale() * scene.step_in_cells * tolerance < scene.step)
            narrow_.push_back(a);
    }
    const auto count = static_cast<std::int32_t>(
        std::ceil(norm(scene.high() - scene.low()) / scene.step * (1 + 1e-6)) + 1);
    ends_.resize(count + 1);
    for (std::int32_t k = 0; k <= count; ++k)
        ends_[k] = static_cast<float>(k) * step_;
}

void SegmentEnds::compute(const PacketBounds& bounds) {
    if (narrow_.empty())
        return;
    ends_.clear();
    const auto count = static_cast<std::int32_t>(std::ceil(bounds.length / step_));
    for (std::int32_t first = 0; first < count; first += lanes) {
        const Floats begin = to_floats(lane_numbers() + first) * step_;
        const Floats end = to_floats(lane_numbers() + (first + 1)) * step_;
        std::array<float, lanes> longest;
        store(longest.data(), max_length(bounds, begin, end));
        for (std::int32_t i = 0; i < std::min(lanes, count - first); ++i) {
            const float at = static_cast<float>(first + i) * step_;
            if (step_ <= longest[i])
                ends_.push_back(at);
            else
                halve(bounds, at, step_);
        }
    }
    ends_.push_back(static_cast<float>(count) * step_);
}

/// Return the maximum length of segments between two distances.
Floats SegmentEnds::max_length(const PacketBounds& bounds, Floats begin, Floats end) const {
    Floats result = floats(infinity);
    for (const std::size_t a : narrow_) {
        const Axis& axis = scene_.axes[a];
        const auto domain = axis.limits(0, axis.cells());
        const Ints low = axis.cell(bounds.lowest(a, begin, end), domain);
        const Ints high = axis.cell(bounds.highest(a, begin, end), domain);
        const float speed = std::max(std::abs(bounds.along[a].low), std::abs(bounds.along[a].high));
        result = min(result, axis.min_width(low, high) / floats(std::max(speed, 1e-30F)));
    }
    return result * (tolerance * static_cast<float>(scene_.step_in_cells));
}

/// Append the ends of segments from `begin` on: halve `length` until all are short enough, four
/// times at once, by the limits of its sixteenths.
void SegmentEnds::halve(const PacketBounds& bounds, float begin, float length) {
    const float part = length / lanes;
    const Floats number = to_floats(lane_numbers());
    // limits[n + i]: of the i-th of n equal parts.
    std::array<float, 2 * lanes> limits;
    store(limits.data() + lanes,
          max_length(bounds, begin + number * part, begin + (number + 1) * part));
    for (int i = lanes - 1; i > 0; --i)
        limits[i] = std::min(limits[2 * i], limits[2 * i + 1]);
    for (int leaf = 0; leaf < lanes;) {
        // Longest part that begins at this leaf and is short enough.
        int width = leaf == 0 ? lanes : 1 << std::countr_zero(static_cast<unsigned>(leaf));
        while (width > 1 && part * static_cast<float>(width) > limits[lanes / width + leaf / width])
            width /= 2;
        const float at = begin + static_cast<float>(leaf) * part;
        if (part * static_cast<float>(width) <= limits[lanes / width + leaf / width])
            ends_.push_back(at);
        else
            halve(bounds, at, part);
        leaf += width;
    }
}

Ints SegmentEnds::segment_at(Floats distance) const {
    if (narrow_.empty())
        return to_ints(min(distance * (1 / step_), floats(static_cast<float>(count()))));
    Ints result = ints(0);
    for (auto bit = static_cast<std::int32_t>(std::bit_floor(ends_.size())); bit > 0; bit /= 2) {
        const Ints further = result + bit;
        result = select(less_equal(further, ints(count())) & less_equal(at(further), distance),
                        further, result);
    }
    return result;
}

} // namespace uzushio::raycast
