#include "raycast/box_range.hpp"

#include <algorithm>

#include "raycast/simd.hpp"

namespace uzushio::raycast {

namespace {

template <class Row> ValueRange over_rows(const FieldView& field, const PointBox& box, Row row) {
    Floats low = floats(infinity), high = floats(-infinity);
    for (std::int64_t z = box.low[2]; z <= box.high[2]; ++z)
        for (std::int64_t y = box.low[1]; y <= box.high[1]; ++y) {
            const Floats values =
                row(box.low[0] * field.strides[0] + y * field.strides[1] + z * field.strides[2]);
            low = min(values, low); // leaves NaN out
            high = max(values, high);
        }
    return {least(low), greatest(high)};
}

} // namespace

ValueRange range_in(const FieldView& field, double shift, const PointBox& box) {
    const int count = box.high[0] - box.low[0] + 1;
    const auto less = static_cast<float>(shift);
    if (field.in_rows && field.wide)
        return over_rows(field, box, [&](std::int64_t at) {
            return load_some(static_cast<const double*>(field.data) + at, count, shift);
        });
    if (field.in_rows) {
        const auto range = over_rows(field, box, [&](std::int64_t at) {
            return load_some(static_cast<const float*>(field.data) + at, count);
        });
        return {range.low - less, range.high - less};
    }
    return over_rows(field, box, [&](std::int64_t at) {
        Floats row = floats(quiet_nan);
        for (int i = 0; i < count; ++i) {
            const auto here = at + i * field.strides[0];
            row[i] = field.wide ? static_cast<float>(field.at(here) - shift)
                                : static_cast<const float*>(field.data)[here] - less;
        }
        return row;
    });
}

} // namespace uzushio::raycast
