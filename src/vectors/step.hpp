#pragma once

#include <span>
#include <vector>

#include "stencil/compensated_sum.hpp"
#include "vectors/layout.hpp"

namespace uzushio::vectors {

/// `out` becomes point + length direction, moved to the bounds where it lies beyond them.
///
/// Returns this rank's part of gradient · (out - point). `out` overlaps no other vector.
[[nodiscard]] stencil::Double2 move(const Layout& layout, const double* point, double length,
                                    const double* direction, const double* gradient, double* out);

/// `before` and `gradient_before` become the step to `point` and what it changed of the gradient.
///
/// Returns this rank's parts of step · step, step · change, change · change, and of the products of
/// `steps`, which are older ones, with the change.
[[nodiscard]] std::vector<stencil::Double2> pair(const Layout& layout, const double* point,
                                                 double* before, const double* gradient,
                                                 double* gradient_before,
                                                 std::span<const double* const> steps);

} // namespace uzushio::vectors
