#pragma once

#include <cstdint>
#include <vector>

#include "domain/first_owners.hpp"
#include "staging/datamodel/box.hpp"
#include "staging/datamodel/read_plan.hpp"
#include "staging/datamodel/step_info.hpp"

namespace uzushio::staging {

/// Planner of reads of one field, from the block table of a step alone: writers do no work for it.
/// It copies what it needs of the step.
///
/// A value comes from a block that owns it (the first in the table if there are several), and from
/// ghost layers only if no block owns it. With n blocks, construction costs O(n log n), and a plan
/// O((k + m) log n) for a box that k blocks overlap with m overlaps among them.
class ReadPlanner {
  public:
    /// `step` must be valid, and `field` one of its fields (ModelError).
    ReadPlanner(const StepInfo& step, std::uint32_t field);

    /// Plan a box in the field's global indices (vertices or elements, by its association).
    [[nodiscard]] ReadPlan plan(const Box& box) const;

    /// Plan the owned part of a block, or all stored values, from that block alone. All is missing
    /// if the block has no array of the field.
    [[nodiscard]] ReadPlan plan_block(const StepInfo& step, std::uint32_t block,
                                      bool with_ghosts = false) const;

  private:
    using FirstOwners = domain::FirstOwners<3, domain::AxisOrder::zyx>;
    struct StoredBlock {
        std::uint32_t rank, block, array;
        Box stored;
    };
    void add(ReadPlan& plan, std::size_t block, const Box& part, bool ghost) const;

    std::uint32_t field_;
    std::vector<StoredBlock> blocks_;
    FirstOwners owned_;
    FirstOwners stored_; ///< with ghost layers; empty if no block has any
};

} // namespace uzushio::staging
