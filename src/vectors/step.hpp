#pragma once

#include <span>
#include <vector>

#include "parallel/compensated_sum.hpp"
#include "vectors/vector_layout.hpp"

namespace uzushio::vectors {

/// Set `out` to the projection of point + length direction onto the bounds.
///
/// Return this rank's part of gradient · (out - point). `out` overlaps no other vector.
[[nodiscard]] parallel::DoubleDouble bounded_step(const VectorLayout& layout, const double* point,
                                                  double length, const double* direction,
                                                  const double* gradient, double* out);

/// Compute a correction pair of L-BFGS in place: `before` becomes the step from it to `point`, and
/// `gradient_before` the change of the gradient.
///
/// Return this rank's parts of step · step, step · change, change · change, and of the products of
/// older `steps` with the change.
[[nodiscard]] std::vector<parallel::DoubleDouble>
correction_pair(const VectorLayout& layout, const double* point, double* before,
                const double* gradient, double* gradient_before,
                std::span<const double* const> steps);

} // namespace uzushio::vectors
