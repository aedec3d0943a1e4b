#pragma once

#include <span>
#include <vector>

#include "stencil/compensated_sum.hpp"
#include "vectors/layout.hpp"

namespace uzushio::vectors {

/// What limited-memory BFGS must know of a gradient, on this rank.
///
/// Elements that a bound holds (see `is_free`) take no part in it; `held_curves` and `held_lengths`
/// are what they have in products of whole vectors, to be taken off those.
struct Look {
    double largest = 0.0;                 ///< of the free elements' absolute slopes; NaN if one is
    std::size_t held = 0;                 ///< elements
    std::vector<stencil::Double2> slopes; ///< steps[i] · gradient
    std::vector<stencil::Double2> held_curves;  ///< steps[i] · changes[j], i = 0 .. j, for each j
    std::vector<stencil::Double2> held_lengths; ///< changes[j] · changes[j]
};

[[nodiscard]] Look look(const Layout& layout, const double* point, const double* gradient,
                        std::span<const double* const> steps,
                        std::span<const double* const> changes);

/// `out` becomes -scale (gradient + Σ weights[j] changes[j]), 0 where held.
///
/// Returns this rank's parts of changes[j] · out. `out` overlaps no other vector.
[[nodiscard]] std::vector<stencil::Double2>
begin_direction(const Layout& layout, const double* point, const double* gradient, double scale,
                std::span<const double> weights, std::span<const double* const> changes,
                double* out);

/// Adds Σ weights[j] steps[j] to `out` where it is not held; returns this rank's part of
/// gradient · out.
[[nodiscard]] stencil::Double2 end_direction(const Layout& layout, const double* point,
                                             const double* gradient,
                                             std::span<const double> weights,
                                             std::span<const double* const> steps, double* out);

} // namespace uzushio::vectors
