#pragma once

#include <cstddef>
#include <span>

#include "pipeline/field_view.hpp"

namespace uzushio::pipeline {

/// Linear combination of neighbours along one axis, with weights for each index of the result.
///
/// The result at index i is the sum over m < width of weights[m * size + i] times the value at
/// first[i] + m. Weights come from the coordinates of the whole mesh, so results do not depend on
/// the decomposition.
struct AxisStencil {
    std::span<const std::ptrdiff_t> first; ///< index in the input
    std::span<const double> weights;
    std::ptrdiff_t width = 0;

    [[nodiscard]] std::ptrdiff_t size() const { return static_cast<std::ptrdiff_t>(first.size()); }
    [[nodiscard]] double weight(std::ptrdiff_t m, std::ptrdiff_t i) const {
        return weights[static_cast<std::size_t>(m * size() + i)];
    }
};

/// Apply the stencil along `axis` (0, 1, 2 for z, y, x). Along the other axes the result at index i
/// belongs to the value at i + `offset`. `out` may have any strides and must not overlap `in`.
///
/// Throws std::invalid_argument if the stencil leaves `in` or does not have the extent of `out`.
template <class T>
void apply_stencil(const FieldView<const T>& in, int axis, const AxisStencil& stencil,
                   std::array<std::ptrdiff_t, 3> offset, const FieldView<T>& out, int threads);

} // namespace uzushio::pipeline
