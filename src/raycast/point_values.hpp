#pragma once

#include <array>
#include <cstdint>

namespace uzushio::raycast {

/// Indices along (x, y, z).
using Index = std::array<std::int32_t, 3>;

/// View of a field's values at the points of a block, with any strides.
struct PointValues {
    const void* data = nullptr;
    bool is_double = false;                ///< double, otherwise float
    bool contiguous_x = false;             ///< stride 1 along x
    std::array<std::int64_t, 3> strides{}; ///< along (x, y, z), in values

    [[nodiscard]] double at(std::int64_t offset) const {
        return is_double ? static_cast<const double*>(data)[offset]
                         : static_cast<double>(static_cast<const float*>(data)[offset]);
    }
};

} // namespace uzushio::raycast
