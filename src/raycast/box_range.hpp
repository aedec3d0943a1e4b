#pragma once

#include "raycast/field_view.hpp"

namespace uzushio::raycast {

/// Least and greatest of finite and infinite values; high < low if there is none.
struct ValueRange {
    float low, high;
};

/// Points of a block, from `low` to `high`, both included.
struct PointBox {
    /// Greatest number of points along x for which a range is cheap.
    static constexpr std::int32_t max_row = 16;

    Index low, high;
};

/// Of a field's values less `shift` in a box, as the sampler reads them.
ValueRange range_in(const FieldView& field, double shift, const PointBox& box);

} // namespace uzushio::raycast
