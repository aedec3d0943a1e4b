#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "raycast/bricks.hpp"
#include "raycast/point_values.hpp"

namespace uzushio::raycast {

/// Part of the domain: stored points, own cells, and the values of fields. The caller owns the
/// values and keeps them unchanged for the lifetime of the block.
class Block {
  public:
    /// Take global indices along (x, y, z). Throws std::invalid_argument if the stored points do
    /// not include all points of the cells.
    Block(const Index& first_point, const Index& points, const Index& first_cell,
          const Index& cells, std::vector<PointValues> fields);

    [[nodiscard]] const Index& first_point() const { return first_point_; }
    [[nodiscard]] const Index& points() const { return points_; }
    [[nodiscard]] const Index& first_cell() const { return first_cell_; }
    [[nodiscard]] const Index& cells() const { return cells_; }
    [[nodiscard]] bool empty() const { return cells_[0] == 0 || cells_[1] == 0 || cells_[2] == 0; }
    [[nodiscard]] const PointValues& field(std::size_t number) const { return fields_[number]; }

    /// Return the value ranges of a field, computed at the first call.
    const Bricks& bricks(std::size_t field, int threads) const;

    /// Return the number of points whose value is not finite. A point that several blocks store
    /// belongs to the block with the cell above it.
    [[nodiscard]] std::int64_t count_nonfinite(std::size_t field, const Index& domain_points) const;

  private:
    Index first_point_, points_, first_cell_, cells_;
    std::vector<PointValues> fields_;
    mutable std::mutex mutex_;
    mutable std::vector<std::unique_ptr<const Bricks>> bricks_;
};

} // namespace uzushio::raycast
