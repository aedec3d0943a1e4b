#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "pipeline/axis_stencil.hpp"
#include "pipeline/field_view.hpp"

namespace uzushio::pipeline {

/// Quantity derived from the nine derivatives of a velocity (u, v, w), A_ab = d u_a / d x_b.
enum class Quantity : std::uint8_t {
    divergence,  ///< A_aa
    vorticity,   ///< curl, three components x, y, z
    enstrophy,   ///< half the square of the vorticity
    strain_rate, ///< sqrt(2 S_ab S_ab), S the symmetric part
    q_criterion, ///< (|W|^2 - |S|^2) / 2, W the antisymmetric part (Hunt, Wray and Moin, 1988)
    lambda2,     ///< the middle eigenvalue of S S + W W (Jeong and Hussain, 1995)
};

[[nodiscard]] constexpr std::size_t components(Quantity quantity) {
    return quantity == Quantity::vorticity ? 3 : 1;
}

/// Compute `quantity` at each point of `out`, in one pass over the velocity.
///
/// `velocity`: u, v, w, of the same extents. `derivatives`: along z, y, x, of the extents of `out`.
/// `offset`: index in the velocity of the first point of `out`. `out`: one array for each component
/// of the quantity; must not overlap the velocity. `jacobian`: for a curvilinear mesh the
/// coordinates x, y, z as fields of the velocity's extents, with `derivatives` by index; otherwise
/// empty.
///
/// Throws std::invalid_argument if a stencil leaves the velocity.
template <class T>
void velocity_gradient(Quantity quantity, const std::array<FieldView<const T>, 3>& velocity,
                       const std::array<AxisStencil, 3>& derivatives,
                       std::array<std::ptrdiff_t, 3> offset, std::span<const FieldView<T>> out,
                       std::span<const FieldView<const T>> jacobian, int threads);

/// Compute the derivatives of one field by x, y and z; arguments as above.
template <class T>
void gradient(const FieldView<const T>& field, const std::array<AxisStencil, 3>& derivatives,
              std::array<std::ptrdiff_t, 3> offset, std::span<const FieldView<T>> out,
              std::span<const FieldView<const T>> jacobian, int threads);

} // namespace uzushio::pipeline
