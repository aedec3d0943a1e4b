#pragma once

#include <cstdint>
#include <vector>

#include "staging/datamodel/box.hpp"
#include "staging/datamodel/box_index.hpp"
#include "staging/datamodel/plan.hpp"
#include "staging/datamodel/step_info.hpp"

namespace uzushio::staging {

/// Computes from a step's block table which rank sends which part of a box of one field: a reader
/// needs nothing else, and no writer takes part. Keeps what it needs of the step.
///
/// A value comes from a block that owns it, the first of the table if several do, and from ghost
/// layers only if none does. With n blocks the cost is O(n log n) to make, then O((k + m) log n)
/// for a box that k blocks overlap, m being the overlaps among these.
class Planner {
  public:
    /// `step` must be valid, and `field` one of its fields (ModelError).
    Planner(const StepInfo& step, std::uint32_t field);

    /// Any box of the field's global indices (of vertices or elements, as is its association).
    [[nodiscard]] Plan plan(const Box& box) const;

    /// The owned part of a block, or all that it stores, from that block alone. Of a block that has
    /// no array of the field, all is missing.
    [[nodiscard]] Plan plan_block(const StepInfo& step, std::uint32_t block,
                                  bool with_ghosts = false) const;

  private:
    struct Holder {
        std::uint32_t rank, block, array;
        Box stored;
    };
    void take_owned(Plan& plan, std::vector<Box>& covered) const;
    void take_ghosts(Plan& plan, const std::vector<Box>& holes) const;
    void add(Plan& plan, std::size_t holder, const Box& part, bool ghost) const;

    std::uint32_t field_;
    std::vector<Holder> holders_;
    std::vector<Box> owned_;
    BoxIndex owned_index_;
    BoxIndex stored_index_;
};

} // namespace uzushio::staging
