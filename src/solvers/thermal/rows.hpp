#pragma once

#include <array>
#include <cstdint>

#include "domain/grid.hpp"
#include "domain/view.hpp"

/// Attributes of a function that must be inlined: GCC does not vectorise loops with calls.
#define UZUSHIO_INLINE [[gnu::always_inline]] inline

namespace uzushio::thermal {

/// Lengths at a row of cells or faces along i. `Axis` is known at compile time: along i they are
/// arrays, along j and k single values.
struct RowMetrics {
    /// Lengths at index `first` and beside it.
    RowMetrics(const domain::Grid& grid, const Index<3>& first) {
        for (std::size_t a = 0; a < 3; ++a) {
            inverse_width[a] = grid[a].inverse_width() + first[a];
            inverse_distance[a] = grid[a].inverse_distance() + first[a];
            share_below[a] = grid[a].share_below() + first[a];
            share_above[a] = grid[a].share_above() + first[a];
        }
    }
    std::array<const double*, 3> inverse_width, inverse_distance, share_below, share_above;

    /// Return the value `shift` cells or faces along `Axis` from item `n` of the row.
    template <std::size_t Axis>
    static double at(const std::array<const double*, 3>& values, std::int64_t n,
                     std::int64_t shift = 0) {
        return values[Axis][Axis == 0 ? n + shift : shift];
    }
};

/// Pointer to the first item of a row in an array, and the distances of neighbours.
struct RowPointer {
    RowPointer() = default;
    RowPointer(const View<const double>& view, const Index<3>& first)
        : value(view.data() + view.offset(first)), stride(view.strides()) {}
    const double* value = nullptr;
    Index<3> stride{};
};

} // namespace uzushio::thermal
