#pragma once

#include <cstddef>
#include <cstdint>

#include "domain/field.hpp"

namespace uzushio::linalg {

/// Copy values; their types may differ.
template <class From, class To>
void copy_row(const From* __restrict from, To* __restrict to, std::int64_t size) {
#pragma omp simd
    for (std::int64_t i = 0; i < size; ++i)
        to[i] = static_cast<To>(from[i]);
}

/// Begin to load a row into the caches. The processor's own prefetch stops at each page.
template <class T> void prefetch_row(const T* row, std::int64_t size) {
    for (std::int64_t n = 0; n < size; n += 64 / static_cast<std::int64_t>(sizeof(T)))
        __builtin_prefetch(row + n);
}

/// Copy the cells of a box, row by row; the types of the values may differ.
template <class From, class To>
void copy_cells(const domain::View<const From>& in, const domain::View<To>& out,
                const domain::Box<3>& cells) {
    for (std::int64_t k = cells.lower[2]; k < cells.upper[2]; ++k)
        for (std::int64_t j = cells.lower[1]; j < cells.upper[1]; ++j)
            copy_row(&in(cells.lower[0], j, k), &out(cells.lower[0], j, k), cells.extent(0));
}

/// Return the bytes of the arrays of a field, with ghosts.
template <class T> [[nodiscard]] std::size_t bytes_of(const domain::Field<T>& field) {
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < field.blocks(); ++b)
        for (std::size_t array = 0; array < field.arrays(); ++array)
            bytes += static_cast<std::size_t>(field.view(b, array).box().volume()) *
                     static_cast<std::size_t>(field.spec().components) * sizeof(T);
    return bytes;
}

} // namespace uzushio::linalg
