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

/// `out` becomes scale (base + Σ weights[j] vectors[j]), 0 where held; it may be the base.
///
/// Returns this rank's parts of the products of `against` with it.
[[nodiscard]] std::vector<stencil::Double2>
combine(const Layout& layout, const double* point, const double* gradient, const double* base,
        double scale, std::span<const double> weights, std::span<const double* const> vectors,
        std::span<const double* const> against, double* out);

} // namespace uzushio::vectors
