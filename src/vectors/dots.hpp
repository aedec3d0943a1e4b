#pragma once

#include <cstddef>
#include <vector>

#include "stencil/dot.hpp"

namespace uzushio::vectors {

/// Dot products that are made side by side in one pass.
class Dots {
  public:
    explicit Dots(std::size_t count) : sums_(count) {}

    [[nodiscard]] stencil::DotSum& operator[](std::size_t i) { return sums_[i]; }

    void add(const Dots& other) {
        for (std::size_t i = 0; i < sums_.size(); ++i)
            sums_[i].add(other.sums_[i]);
    }

    [[nodiscard]] std::vector<stencil::Double2> folded() const {
        std::vector<stencil::Double2> all;
        for (const auto& sum : sums_)
            all.push_back(sum.folded());
        return all;
    }

  private:
    std::vector<stencil::DotSum> sums_;
};

} // namespace uzushio::vectors
