#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "raycast/point_values.hpp"

namespace uzushio::raycast {

/// Minimum and maximum of a field in bricks of 4³ cells of a block. A brick includes all points of
/// its cells, so neighbours' ranges overlap.
struct Bricks {
    static constexpr int shift = 2;
    static constexpr int size = 1 << shift;

    /// Read the whole field once.
    Bricks(const PointValues& field, const Index& points, int threads);

    Index count{};
    std::vector<float> low, high; ///< bounds of all finite values
    std::vector<std::uint8_t> has_nonfinite;
    double min, max; ///< of all finite values; max < min if there are none
    bool any_nonfinite = false;

    /// Return whether interpolation, including its rounding, can give a value in a brick of this
    /// range.
    [[nodiscard]] static bool may_hold(float low, float high, double value) {
        const double margin = 1e-6 * std::max(std::abs(low), std::abs(high));
        return value >= low - margin && value <= high + margin;
    }
    [[nodiscard]] std::size_t number(int x, int y, int z) const {
        return x + count[0] * (y + static_cast<std::size_t>(count[1]) * z);
    }
};

} // namespace uzushio::raycast
