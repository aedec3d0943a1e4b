#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace uzushio::raycast {

/// Along (x, y, z).
using Index = std::array<std::int32_t, 3>;

/// Values of a field at the points of a block, wherever they lie.
struct PointValues {
    const void* data = nullptr;
    bool is_double = false;                ///< double, not float
    bool contiguous_x = false;             ///< values that follow each other along x
    std::array<std::int64_t, 3> strides{}; ///< along (x, y, z), in values

    [[nodiscard]] double at(std::int64_t offset) const {
        return is_double ? static_cast<const double*>(data)[offset]
                         : static_cast<double>(static_cast<const float*>(data)[offset]);
    }
};

} // namespace uzushio::raycast
