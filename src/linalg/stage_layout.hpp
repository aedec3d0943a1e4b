#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "domain/process_counts.hpp"
#include "domain/redistribution_plan.hpp"

namespace uzushio::linalg {

/// Parts of all ranks in one stage of a solve: one axis is complete, the others are cut, the first
/// two after an even number of cells: two columns that one FFT transforms stay together, because
/// the round-off of each depends on the other.
class StageLayout {
  public:
    /// Cut a box into `counts[a]` parts along each axis; ranks beyond their product have none.
    StageLayout(const domain::Box<3>& all, const std::array<int, 3>& counts, int ranks);

    [[nodiscard]] const domain::Box<3>& box(int rank) const {
        return boxes_[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] std::vector<domain::Part> parts() const {
        std::vector<domain::Part> parts;
        for (std::size_t rank = 0; rank < boxes_.size(); ++rank)
            if (!boxes_[rank].empty())
                parts.push_back({static_cast<int>(rank), 0, boxes_[rank]});
        return parts;
    }

  private:
    std::vector<domain::Box<3>> boxes_;
};

} // namespace uzushio::linalg
