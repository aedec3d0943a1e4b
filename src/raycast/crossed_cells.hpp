#pragma once

#include <cstdint>
#include <vector>

#include "raycast/bricks.hpp"
#include "raycast/point_values.hpp"

namespace uzushio::raycast {

/// Cells of a block that an iso-surface may cross: a bit for each cell, 64 bits for each brick.
class CrossedCells {
  public:
    /// Add the cells with a point below `value` and one that is not, after `shift` has been taken
    /// from values, as the sampler reads them. `points`: of the block.
    void add(const PointValues& field, const Bricks& ranges, const Index& points, double shift,
             double value, int threads);

    /// Whether there are any in a box of cells, both ends included.
    [[nodiscard]] bool any_in(const Index& low, const Index& high) const;

  private:
    Index count_{}; ///< of bricks
    std::vector<std::uint64_t> bits_;
};

} // namespace uzushio::raycast
