#include "raycast/transfer_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace uzushio::raycast {

namespace {

constexpr double max_opacity = 0.9999; // of a unit distance: extinction must stay finite

constexpr double log2_error = 4e-5; // of the lookup

/// Extent of the table beyond the points, as a fraction of their range.
constexpr double beyond = 0.25;

double extinction(double opacity) { return -std::log2(1 - std::min(opacity, max_opacity)); }

std::array<double, 4> wide(const Rgba& color) { return {color[0], color[1], color[2], color[3]}; }

/// Extinction, and colour multiplied by it.
using Emission = std::array<double, 4>;

Emission emission(const std::array<double, 4>& color) {
    const double tau = extinction(color[3]);
    return {tau, tau * color[0], tau * color[1], tau * color[2]};
}

} // namespace

double TransferTable::difference(std::int32_t row) {
    return std::bit_cast<float>(0x41000000 + (row << 20)) - fine;
}

TransferTable::TransferTable(std::span<const TransferPoint> points, const Rgba& nan,
                             bool logarithmic)
    : points_(points.begin(), points.end()), logarithmic_(logarithmic) {
    if (points.empty())
        throw std::invalid_argument("a transfer function needs a point");
    for (std::size_t i = 1; i < points.size(); ++i)
        if (!(points[i].value >= points[i - 1].value))
            throw std::invalid_argument("the values of a transfer function must not decrease");
    if (logarithmic) {
        if (!(points.front().value > 0))
            throw std::invalid_argument("values on a logarithmic scale must be above 0");
        for (TransferPoint& point : points_)
            point.value = std::log2(point.value);
    }
    const double range = points_.back().value - points_.front().value;
    low_ = points_.front().value - beyond * range;
    high_ = points_.back().value + beyond * range;
    middle_ = (low_ + high_) / 2;
    scale_ = high_ > low_ ? static_cast<float>((columns - 1) / (high_ - low_)) : 0;

    // Integral of the emission up to each column, in columns, from `samples` samples per column.
    constexpr int samples = 16;
    std::vector<Emission> integral(columns);
    std::size_t at = 0;
    const auto color = [&](double value) {
        if (value < points_.front().value)
            return wide(points_.front().color);
        while (at + 2 < points_.size() && points_[at + 1].value <= value)
            ++at;
        const auto& a = points_[at];
        const auto& b = points_[std::min(at + 1, points_.size() - 1)];
        const double width = b.value - a.value;
        const double part = width > 0 ? std::clamp((value - a.value) / width, 0.0, 1.0) : 1.0;
        std::array<double, 4> result;
        for (std::size_t c = 0; c < 4; ++c)
            result[c] = a.color[c] + part * (b.color[c] - a.color[c]);
        return result;
    };
    for (std::int32_t i = 1; i < columns; ++i) {
        integral[i] = integral[i - 1];
        for (int s = 0; s < samples; ++s) {
            const double where = (i - 1 + (s + 0.5) / samples) / (columns - 1);
            const Emission here = emission(color(low_ + where * (high_ - low_)));
            for (std::size_t c = 0; c < 4; ++c)
                integral[i][c] += here[c] / samples;
        }
    }
    const auto up_to = [&](double column) {
        const auto i = std::min(static_cast<std::int32_t>(column), columns - 2);
        Emission result;
        for (std::size_t c = 0; c < 4; ++c)
            result[c] = integral[i][c] + (column - i) * (integral[i + 1][c] - integral[i][c]);
        return result;
    };

    table_.resize(4UL * (rows * columns + 1));
    const auto set = [this](std::size_t entry, const Emission& mean) {
        table_[4 * entry] = static_cast<float>(mean[0]);
        for (std::size_t c = 1; c < 4; ++c)
            table_[4 * entry + c] = mean[0] > 0 ? static_cast<float>(mean[c] / mean[0]) : 0.0F;
    };
    at = 0;
    for (std::int32_t i = 0; i < columns; ++i) // no difference: the function itself
        set(i, emission(color(low_ + i * (high_ - low_) / (columns - 1))));
    const auto value = [&](double column) {
        return low_ + column / (columns - 1) * (high_ - low_);
    };
    for (std::int32_t r = 1; r < rows; ++r) {
        const double half = (difference(r) + difference(r + 1)) / 4;
        const double min_half = difference(r) / 2;
        for (std::int32_t i = 0; i < columns; ++i) {
            const double from = std::max(i - half, 0.0);
            const double to = std::min(i + half, static_cast<double>(columns - 1));
            Emission mean = up_to(to);
            const Emission begin = up_to(from);
            for (std::size_t c = 0; c < 4; ++c)
                mean[c] = std::max(mean[c] - begin[c], 0.0) / (to - from);
            if (!any_opacity(value(i - min_half), value(i + min_half)))
                mean = {};
            set(static_cast<std::size_t>(r) * columns + i, mean);
        }
    }
    if (high_ == low_) // the last of several points at one value
        for (std::int32_t i = 0; i < rows * columns; ++i)
            set(i, emission(wide(points_.back().color)));
    set(static_cast<std::size_t>(rows) * columns, emission(wide(nan)));
}

bool TransferTable::any_opacity(double low, double high) const {
    if (!(low <= high))
        return false;
    low = std::clamp(low, points_.front().value, points_.back().value);
    high = std::clamp(high, points_.front().value, points_.back().value);
    for (std::size_t i = 0; i < points_.size(); ++i) {
        const auto& a = points_[i];
        if (a.value >= low && a.value <= high && a.color[3] > 0)
            return true;
        if (i + 1 == points_.size())
            continue;
        const auto& b = points_[i + 1];
        for (const double end : {low, high})
            if (a.value < end && end < b.value && (a.color[3] > 0 || b.color[3] > 0))
                return true;
    }
    return false;
}

bool TransferTable::visible(double low, double high) const {
    if (logarithmic_) {
        low = std::log2(std::max(low, double{smallest}));
        high = std::log2(std::max(high, double{smallest}));
    }
    // Half a column, by which means are rounded, and a little for rounding errors.
    const double margin = 0.55 * (high_ - low_) / (columns - 1) + (logarithmic_ ? log2_error : 0);
    return low <= high && any_opacity(low - margin, high + margin);
}

} // namespace uzushio::raycast
