#pragma once

#include <array>
#include <cstddef>

namespace uzushio::pipeline {

/// Strided view of values (z, y, x); strides in values. Does not own the memory.
template <class T> struct FieldView {
    T* data = nullptr;
    std::array<std::ptrdiff_t, 3> extents{};
    std::array<std::ptrdiff_t, 3> strides{};

    [[nodiscard]] T* row(std::ptrdiff_t k, std::ptrdiff_t j) const {
        return data + k * strides[0] + j * strides[1];
    }
};

} // namespace uzushio::pipeline
