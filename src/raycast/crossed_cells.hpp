#pragma once

#include <cstdint>
#include <vector>

#include "raycast/bricks.hpp"
#include "raycast/point_values.hpp"

namespace uzushio::raycast {

/// Cells of a block that an iso-surface may cross: one bit per cell, 64 bits per brick.
class CrossedCells {
  public:
    /// Add the cells with a point below `value` and one not below, with `shift` subtracted from
    /// values as in the sampler. `points`: of the block.
    void add(const PointValues& field, const Bricks& ranges, const Index& points, double shift,
             double value, int threads);

    /// Return whether a box of cells, ends included, has any.
    [[nodiscard]] bool any_in(const Index& low, const Index& high) const;

  private:
    Index count_{}; ///< of bricks
    std::vector<std::uint64_t> bits_;
};

} // namespace uzushio::raycast
