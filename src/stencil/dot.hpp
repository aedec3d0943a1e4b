#pragma once

#include <cstddef>

#include "stencil/compensated_sum.hpp"

namespace uzushio::stencil {

/// The sum of a[i] b[i], products and sum with twice the digits of a double, so that parts of it,
/// as of ranks, add up to the same however they are cut. Of this rank alone; communicates nothing.
[[nodiscard]] Double2 dot(const double* a, const double* b, std::size_t size);

} // namespace uzushio::stencil
