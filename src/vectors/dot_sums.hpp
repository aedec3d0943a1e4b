#pragma once

#include <cstddef>
#include <vector>

#include "stencil/dot.hpp"

namespace uzushio::vectors {

/// Several dot products accumulated in one pass.
class DotSums {
  public:
    explicit DotSums(std::size_t count) : sums_(count) {}

    [[nodiscard]] stencil::DotSum& operator[](std::size_t i) { return sums_[i]; }

    void add(const DotSums& other) {
        for (std::size_t i = 0; i < sums_.size(); ++i)
            sums_[i].add(other.sums_[i]);
    }

    /// Return the sums in double-double precision.
    [[nodiscard]] std::vector<parallel::DoubleDouble> folded() const {
        std::vector<parallel::DoubleDouble> all;
        for (const auto& sum : sums_)
            all.push_back(sum.folded());
        return all;
    }

  private:
    std::vector<stencil::DotSum> sums_;
};

} // namespace uzushio::vectors
