#pragma once

#include <cstddef>

#include "stencil/compensated_sum.hpp"

namespace uzushio::vectors {

/// `out` becomes `unit` times `values`; returns this rank's part of the sum of squares of what is
/// then between it and `background`, 0 where there is none (null).
[[nodiscard]] stencil::Double2 enter(const double* values, double unit, const double* background,
                                     double* out, std::size_t size, int threads);

/// `slopes` of J with respect to `unit` times `values` get those of its background, which are
/// `precision` times what is between the two, and become slopes with respect to `values`.
void leave(double* slopes, double unit, const double* values, const double* background,
           double precision, std::size_t size, int threads);

} // namespace uzushio::vectors
