#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "pipeline/axis_stencil.hpp"
#include "pipeline/field_view.hpp"

namespace uzushio::pipeline {

/// Quantity of the derivatives of one field f, or of the nine derivatives of a velocity (u, v, w),
/// A_ab = d u_a / d x_b.
enum class Quantity : std::uint8_t {
    gradient,    ///< of one field, three components d f / d x_b
    divergence,  ///< A_aa
    vorticity,   ///< curl, three components x, y, z
    enstrophy,   ///< half the square of the vorticity
    strain_rate, ///< sqrt(2 S_ab S_ab), S the symmetric part
    q_criterion, ///< (|W|^2 - |S|^2) / 2, W the antisymmetric part (Hunt, Wray and Moin, 1988)
    lambda2,     ///< the middle eigenvalue of S S + W W (Jeong and Hussain, 1995)
};

[[nodiscard]] constexpr std::size_t components(Quantity quantity) {
    return quantity == Quantity::gradient || quantity == Quantity::vorticity ? 3 : 1;
}

/// Compute `quantity` at each point of `out`, in one pass over the fields.
///
/// `fields`: one for the gradient, otherwise u, v, w, of the same extents. `derivatives`: along z,
/// y, x, of the extents of `out`. `offset`: index in the fields of the first point of `out`. `out`:
/// one array for each component of the quantity; must not overlap the fields. `jacobian`: for a
/// curvilinear mesh the coordinates x, y, z as fields of the same extents, with `derivatives` by
/// index; otherwise empty.
///
/// Throws std::invalid_argument if a stencil leaves the fields.
template <class T>
void differentiate(Quantity quantity, std::span<const FieldView<const T>> fields,
                   const std::array<AxisStencil, 3>& derivatives,
                   std::array<std::ptrdiff_t, 3> offset, std::span<const FieldView<T>> out,
                   std::span<const FieldView<const T>> jacobian, int threads);

} // namespace uzushio::pipeline
