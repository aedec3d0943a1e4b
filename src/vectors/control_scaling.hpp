#pragma once

#include <cstddef>

#include "parallel/compensated_sum.hpp"

namespace uzushio::vectors {

/// Set `out` to `unit` times the control `values`; return this rank's part of the squared distance
/// between `out` and `background`, 0 if `background` is null.
[[nodiscard]] parallel::DoubleDouble control_to_state(const double* values, double unit,
                                                      const double* background, double* out,
                                                      std::size_t size, int threads);

/// Add the gradient of the background term, `precision` (unit values - background), to `gradient`,
/// and convert it to the gradient with respect to the control `values` (times `unit`).
void gradient_to_control(double* gradient, double unit, const double* values,
                         const double* background, double precision, std::size_t size, int threads);

} // namespace uzushio::vectors
