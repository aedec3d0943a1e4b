#pragma once

#include <vector>

#include "domain/decomposition.hpp"
#include "domain/first_owners.hpp"

namespace uzushio::domain {

/// Box of indices of a zone, as a source or a target on a rank.
struct Part {
    int rank = 0;
    int zone = 0;
    Box<3> box;
};

/// Return the blocks of a decomposition as parts, in the order of their ids.
[[nodiscard]] std::vector<Part> parts_of(const Decomposition& decomposition);

/// Values that are copied from a source to a target.
struct Move {
    std::size_t source = 0; ///< indices in the lists of parts
    std::size_t target = 0;
    Box<3> box;
};

/// Redistribution from M parts to N parts, such as from the blocks of a decomposition to the slabs
/// of a direct solver or to the blocks of a coarse grid. Sources may overlap, and so may targets: a
/// value is copied from the first source that contains it. All ranks have both lists and plan their
/// own share of the moves, without messages.
class RedistributionPlan {
  public:
    RedistributionPlan(std::vector<Part> sources, std::vector<Part> targets);

    [[nodiscard]] const std::vector<Part>& sources() const { return sources_; }
    [[nodiscard]] const std::vector<Part>& targets() const { return targets_; }

    /// Return the moves to a target, in the order of their sources. `missing`, if given, receives
    /// the parts that no source contains.
    [[nodiscard]] std::vector<Move> moves_to(std::size_t target,
                                             BoxSet<3>* missing = nullptr) const;

    /// Return the moves from a source, in the order of their targets.
    [[nodiscard]] std::vector<Move> moves_from(std::size_t source) const;

  private:
    std::vector<Part> sources_, targets_;
    FirstOwners<4> owners_; ///< the fourth axis is the zone
    BoxIndex<4> target_index_;
};

} // namespace uzushio::domain
