#include "raycast/bricks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace uzushio::raycast {

namespace {

constexpr float far = std::numeric_limits<float>::infinity();

/// Running ranges of values, one for each point along x.
struct RowRanges {
    std::vector<float> low, high, nonfinite;

    explicit RowRanges(std::size_t points) : low(points), high(points), nonfinite(points) {}

    void clear() {
        std::fill(low.begin(), low.end(), far);
        std::fill(high.begin(), high.end(), -far);
        std::fill(nonfinite.begin(), nonfinite.end(), 0.0F);
    }
};

/// Infinite values become NaN, for which comparisons are false, so they are left out.
template <class T> void widen(RowRanges& row, const T* values, std::int64_t stride, int points) {
    float *const low = row.low.data(), *const high = row.high.data(),
                 *const nonfinite = row.nonfinite.data();
    const auto widen_at = [&](int i, T value) {
        const auto given = static_cast<float>(value);
        const float v = given + (given - given);
        low[i] = v < low[i] ? v : low[i];
        high[i] = v > high[i] ? v : high[i];
        nonfinite[i] = v == v ? nonfinite[i] : 1.0F;
    };
    if (stride == 1) {
#pragma omp simd
        for (int i = 0; i < points; ++i)
            widen_at(i, values[i]);
    } else {
        for (int i = 0; i < points; ++i)
            widen_at(i, values[i * stride]);
    }
}

} // namespace

Bricks::Bricks(const PointValues& field, const Index& points, int threads) {
    for (std::size_t a = 0; a < 3; ++a)
        count[a] = std::max(1, (points[a] - 1 + size - 1) / size);
    const std::size_t all = static_cast<std::size_t>(count[0]) * count[1] * count[2];
    low.resize(all);
    high.resize(all);
    has_nonfinite.resize(all);

#pragma omp parallel num_threads(threads)
    {
        RowRanges row(points[0]);
#pragma omp for collapse(2) schedule(dynamic)
        for (int bz = 0; bz < count[2]; ++bz)
            for (int by = 0; by < count[1]; ++by) {
                row.clear();
                for (int z = bz * size; z <= std::min((bz + 1) * size, points[2] - 1); ++z)
                    for (int y = by * size; y <= std::min((by + 1) * size, points[1] - 1); ++y) {
                        const std::int64_t at = y * field.strides[1] + z * field.strides[2];
                        if (field.is_double)
                            widen(row, static_cast<const double*>(field.data) + at,
                                  field.strides[0], points[0]);
                        else
                            widen(row, static_cast<const float*>(field.data) + at, field.strides[0],
                                  points[0]);
                    }
                for (int bx = 0; bx < count[0]; ++bx) {
                    const int begin = bx * size, end = std::min(begin + size + 1, points[0]);
                    const std::size_t i = number(bx, by, bz);
                    low[i] = *std::min_element(&row.low[begin], row.low.data() + end);
                    high[i] = *std::max_element(&row.high[begin], row.high.data() + end);
                    has_nonfinite[i] =
                        *std::max_element(&row.nonfinite[begin], row.nonfinite.data() + end) > 0;
                }
            }
    }
    if (field.is_double) // the conversion to float may have rounded inwards
        for (std::size_t i = 0; i < all; ++i) {
            low[i] = std::nextafter(low[i], -far);
            high[i] = std::nextafter(high[i], far);
        }
    min = *std::min_element(low.begin(), low.end());
    max = *std::max_element(high.begin(), high.end());
    any_nonfinite = std::any_of(has_nonfinite.begin(), has_nonfinite.end(),
                                [](auto nonfinite) { return nonfinite != 0; });
}

} // namespace uzushio::raycast
