#pragma once

#include <array>
#include <cstddef>

#include "stencil/compensated_sum.hpp"

namespace uzushio::stencil {

/// A sum of a[i] b[i] that grows piece by piece, products and sum with twice the digits of a
/// double, so that parts of it, as of ranks, add up to the same however they are cut.
class DotSum {
  public:
    /// Fastest where `size` is a multiple of this.
    static constexpr std::size_t lanes = 16;

    /// Asks for the values of `a` from `ahead` places on, while these are added, unless it is 0:
    /// where many arrays are gone through in turns, the processor does not know which is next.
    void add(const double* a, const double* b, std::size_t size, std::size_t ahead = 0);
    void add(const DotSum& other);
    [[nodiscard]] Double2 folded() const;

  private:
    std::array<double, lanes> high_{};
    std::array<double, lanes> low_{};
    CompensatedSum rest_; ///< what is not a whole number of lanes
};

/// The sum of a[i] b[i]. Of this rank alone; communicates nothing.
[[nodiscard]] Double2 dot(const double* a, const double* b, std::size_t size);

} // namespace uzushio::stencil
