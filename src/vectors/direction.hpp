#pragma once

#include <span>
#include <vector>

#include "parallel/compensated_sum.hpp"
#include "vectors/vector_layout.hpp"

namespace uzushio::vectors {

/// Summary of a gradient for limited-memory BFGS, on this rank.
///
/// Elements held by a bound (see `is_free`) are excluded; `held_curvatures` and `held_squares` are
/// their parts of the products of whole vectors, to be subtracted from these.
struct GradientSummary {
    double max_slope = 0.0; ///< maximum absolute free element of the gradient; NaN if one is NaN
    std::size_t held = 0;   ///< number of held elements
    std::vector<parallel::DoubleDouble> slopes; ///< steps[i] · gradient
    std::vector<parallel::DoubleDouble>
        held_curvatures; ///< steps[i] · changes[j], i = 0 .. j, for each j
    std::vector<parallel::DoubleDouble> held_squares; ///< changes[j] · changes[j]
};

/// Compute the summary in one pass.
[[nodiscard]] GradientSummary summarise_gradient(const VectorLayout& layout, const double* point,
                                                 const double* gradient,
                                                 std::span<const double* const> steps,
                                                 std::span<const double* const> changes);

/// Set `out` to scale (base + Σ weights[j] vectors[j]), 0 where held; `out` may be `base`.
///
/// Return this rank's parts of the dot products of `against` with `out`.
[[nodiscard]] std::vector<parallel::DoubleDouble>
combine(const VectorLayout& layout, const double* point, const double* gradient, const double* base,
        double scale, std::span<const double> weights, std::span<const double* const> vectors,
        std::span<const double* const> against, double* out);

} // namespace uzushio::vectors
