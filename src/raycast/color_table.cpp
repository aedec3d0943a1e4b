#include "raycast/color_table.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace uzushio::raycast {

ColorTable::ColorTable(std::span<const Rgba> rows, double low, double high, const Rgba& below,
                       const Rgba& above, const Rgba& nan, bool logarithmic)
    : logarithmic_(logarithmic), low_(low), high_(high) {
    if (rows.empty() || !(low <= high))
        throw std::invalid_argument(
            "a colour table needs at least one row, and low must not exceed high");
    if (logarithmic && !(low > 0))
        throw std::invalid_argument("low must be above 0 on a logarithmic scale");
    const std::size_t given = rows.size();
    // Subdivide each given interval equally, so that the given rows are among the fine ones.
    const std::size_t parts = given < 2 ? 1 : (1023 + given - 2) / (given - 1);
    const std::size_t count = given < 2 ? 1 : (given - 1) * parts + 1;
    const auto add = [this](const Rgba& color) {
        rows_.insert(rows_.end(), color.begin(), color.end());
        opaque_ = opaque_ && color[3] >= 1;
    };
    add(below);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = std::min(i / parts, given - 1);
        const Rgba &a = rows[row], &b = rows[std::min(row + 1, given - 1)];
        const float part = static_cast<float>(i % parts) / static_cast<float>(parts);
        Rgba color;
        for (std::size_t c = 0; c < 4; ++c)
            color[c] = a[c] + part * (b[c] - a[c]);
        add(color);
    }
    add(above);
    add(nan);
    last_ = static_cast<float>(count - 1);
    if (logarithmic)
        log_low_ = static_cast<float>(std::log2(low));
    const double range = logarithmic ? std::log2(high / low) : high - low;
    scale_ = high > low ? static_cast<float>(static_cast<double>(count - 1) / range) : 0;
    above_row_ = static_cast<std::int32_t>(count) + 1;
    nan_row_ = above_row_ + 1;
}

} // namespace uzushio::raycast
