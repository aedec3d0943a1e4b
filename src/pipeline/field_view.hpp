#pragma once

#include <array>
#include <cstddef>

namespace uzushio::pipeline {

/// Values (z, y, x) where they lie; strides in values. Looks at memory of somebody else's.
template <class T> struct FieldView {
    T* data = nullptr;
    std::array<std::ptrdiff_t, 3> extents{};
    std::array<std::ptrdiff_t, 3> strides{};

    [[nodiscard]] T* row(std::ptrdiff_t k, std::ptrdiff_t j) const {
        return data + k * strides[0] + j * strides[1];
    }
};

} // namespace uzushio::pipeline
