#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "raycast/axis.hpp"
#include "raycast/bricks.hpp"
#include "raycast/point_values.hpp"

namespace uzushio::raycast {

/// A part of the domain: the points it stores, the cells it draws, and its fields' values. The
/// values are the caller's and must stay as they are as long as the block is used.
class Block {
  public:
    /// Global indices along (x, y, z). Throws std::invalid_argument if the points stored are not
    /// all those of the cells.
    Block(const Index& first_point, const Index& points, const Index& first_cell,
          const Index& cells, std::vector<PointValues> fields);

    [[nodiscard]] const Index& first_point() const { return first_point_; }
    [[nodiscard]] const Index& points() const { return points_; }
    [[nodiscard]] const Index& first_cell() const { return first_cell_; }
    [[nodiscard]] const Index& cells() const { return cells_; }
    [[nodiscard]] bool empty() const { return cells_[0] == 0 || cells_[1] == 0 || cells_[2] == 0; }
    [[nodiscard]] const PointValues& field(std::size_t number) const { return fields_[number]; }
    [[nodiscard]] std::size_t fields() const { return fields_.size(); }

    /// Ranges of a field's values, found at the first call.
    const Bricks& bricks(std::size_t field, int threads) const;

    /// Points of this block whose value is not finite. A point that several blocks store is that of
    /// the block that draws the cell above it.
    [[nodiscard]] std::int64_t count_nonfinite(std::size_t field, const Index& domain_points) const;

  private:
    Index first_point_, points_, first_cell_, cells_;
    std::vector<PointValues> fields_;
    mutable std::mutex mutex_;
    mutable std::vector<std::unique_ptr<const Bricks>> bricks_;
};

} // namespace uzushio::raycast
