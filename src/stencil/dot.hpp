#pragma once

#include <array>
#include <cstddef>

#include "parallel/compensated_sum.hpp"

namespace uzushio::stencil {

/// Accumulator of Σ a[i] b[i] in double-double arithmetic, so that partial sums, as of ranks, give
/// the same total for any partition.
class DotSum {
  public:
    /// Number of lanes; `add` is fastest if `size` is a multiple of it.
    static constexpr std::size_t lanes = 16;

    /// Add a[i] b[i]. Prefetch `a` at distance `prefetch` unless it is 0: hardware prefetchers do
    /// not follow passes that alternate between many arrays.
    void add(const double* a, const double* b, std::size_t size, std::size_t prefetch = 0);
    void add(const DotSum& other);
    [[nodiscard]] parallel::DoubleDouble folded() const;

  private:
    std::array<double, lanes> high_{};
    std::array<double, lanes> low_{};
    parallel::CompensatedSum rest_; ///< terms beyond the last full group of lanes
};

/// Return Σ a[i] b[i] of this rank. Not collective.
[[nodiscard]] parallel::DoubleDouble dot(const double* a, const double* b, std::size_t size);

} // namespace uzushio::stencil
