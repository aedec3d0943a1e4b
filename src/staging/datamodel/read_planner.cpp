#include "staging/datamodel/read_planner.hpp"

#include <algorithm>
#include <tuple>

#include "staging/datamodel/model_error.hpp"
#include "staging/require.hpp"

namespace uzushio::staging {
namespace {

constexpr Require<ModelError> require_valid;

} // namespace

ReadPlanner::ReadPlanner(const StepInfo& step, std::uint32_t field) : field_(field) {
    require_valid(field < step.fields.size(), "The step has no field of the number ", field, ".");
    std::vector<Box> owned, stored;
    bool with_ghosts = false;
    for (std::size_t b = 0; b < step.blocks.size(); ++b) {
        const Block& block = step.blocks[b];
        const auto array = find_array(block, field);
        if (!array)
            continue;
        const Box& box = block.owned(step.fields[field].association);
        if (box.empty())
            continue;
        stored.push_back(stored_box(step, block, block.arrays[*array]));
        with_ghosts = with_ghosts || stored.back() != box;
        owned.push_back(box);
        blocks_.push_back({block.rank, static_cast<std::uint32_t>(b), *array, stored.back()});
    }
    owned_ = FirstOwners(owned);
    if (with_ghosts)
        stored_ = FirstOwners(stored);
}

ReadPlan ReadPlanner::plan(const Box& box) const {
    require_valid(is_valid(box), "The box ", [&] { return box_text(box); }, ", is not valid.");
    ReadPlan plan;
    plan.box = box;
    std::vector<FirstOwners::Part> parts;
    std::vector<Box> holes;
    plan.comparisons = owned_.find(box, parts, &holes);
    for (const auto& part : parts)
        add(plan, part.owner, part.box, false);
    for (const Box& hole : holes) {
        parts.clear();
        plan.comparisons += stored_.find(hole, parts, &plan.missing);
        for (const auto& part : parts)
            add(plan, part.owner, part.box, true);
    }
    coalesce(plan.missing);
    std::sort(plan.pieces.begin(), plan.pieces.end(), [](const Piece& a, const Piece& b) {
        return std::tuple(a.rank, a.block, a.target.lower) <
               std::tuple(b.rank, b.block, b.target.lower);
    });
    return plan;
}

void ReadPlanner::add(ReadPlan& plan, std::size_t block, const Box& part, bool ghost) const {
    const StoredBlock& from = blocks_[block];
    plan.pieces.push_back({from.rank, from.block, from.array, part.relative_to(from.stored.lower),
                           part.relative_to(plan.box.lower), ghost});
}

ReadPlan ReadPlanner::plan_block(const StepInfo& step, std::uint32_t block,
                                 bool with_ghosts) const {
    require_valid(block < step.blocks.size(), "The step has no block of the number ", block, ".");
    const auto holder = std::lower_bound(
        blocks_.begin(), blocks_.end(), block,
        [](const StoredBlock& h, std::uint32_t number) { return h.block < number; });
    ReadPlan plan;
    plan.box = step.blocks[block].owned(step.fields[field_].association);
    if (holder == blocks_.end() || holder->block != block) {
        if (!plan.box.empty())
            plan.missing.push_back(plan.box);
        return plan;
    }
    if (with_ghosts)
        plan.box = holder->stored;
    add(plan, static_cast<std::size_t>(holder - blocks_.begin()), plan.box, false);
    return plan;
}

} // namespace uzushio::staging
