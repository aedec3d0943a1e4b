#pragma once

#include <vector>

#include "domain/box_index.hpp"
#include "domain/box_set.hpp"
#include "domain/decomposition.hpp"

namespace uzushio::domain {

/// Box of indices of a zone that a rank has or wants.
struct Part {
    int rank = 0;
    int zone = 0;
    Box<3> box;
};

/// Blocks of a decomposition as parts, in the order of their ids.
[[nodiscard]] std::vector<Part> parts_of(const Decomposition& decomposition);

/// Values that go from a source to a target.
struct Move {
    std::size_t source = 0; ///< places in the lists of parts
    std::size_t target = 0;
    Box<3> box;
};

/// Redistribution from M parts to N parts: for staging, checkpoints, extracts and coarse grids.
/// Parts of either side may overlap each other: a value comes from the first source that has it.
/// All ranks hold both lists and plan their own share of the moves, without messages.
class RedistributionPlan {
  public:
    RedistributionPlan(std::vector<Part> sources, std::vector<Part> targets);

    [[nodiscard]] const std::vector<Part>& sources() const { return sources_; }
    [[nodiscard]] const std::vector<Part>& targets() const { return targets_; }

    /// Moves to a target, in the order of their sources. What no source has goes to `missing`, if
    /// given.
    [[nodiscard]] std::vector<Move> moves_to(std::size_t target,
                                             BoxSet<3>* missing = nullptr) const;

    /// Moves from a source, in the order of their targets.
    [[nodiscard]] std::vector<Move> moves_from(std::size_t source) const;

  private:
    std::vector<Part> sources_, targets_;
    BoxIndex<4> source_index_, target_index_; ///< the fourth axis is the zone
};

} // namespace uzushio::domain
