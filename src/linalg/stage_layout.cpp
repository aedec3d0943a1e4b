#include "linalg/stage_layout.hpp"

namespace uzushio::linalg {

StageLayout::StageLayout(const domain::Box<3>& all, const std::array<int, 3>& counts, int ranks) {
    for (int rank = 0; rank < ranks; ++rank)
        boxes_.push_back(rank < counts[0] * counts[1] * counts[2]
                             ? domain::part_box(all, counts, rank, {2, 2, 1})
                             : domain::Box<3>{});
}

} // namespace uzushio::linalg
