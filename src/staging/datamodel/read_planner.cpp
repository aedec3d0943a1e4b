#include "staging/datamodel/read_planner.hpp"

#include <algorithm>
#include <tuple>

#include "staging/datamodel/box_set.hpp"
#include "staging/datamodel/model_error.hpp"

namespace uzushio::staging {
namespace {

std::optional<std::uint32_t> array_of(const Block& block, std::uint32_t field) {
    for (std::size_t i = 0; i < block.arrays.size(); ++i)
        if (block.arrays[i].field == field)
            return static_cast<std::uint32_t>(i);
    return std::nullopt;
}

void require_valid(const Box& box) {
    if (!is_valid(box))
        throw ModelError("The box " + to_string(box) + ", is not valid.");
}

void sort_pieces(ReadPlan& plan) {
    std::sort(plan.pieces.begin(), plan.pieces.end(), [](const Piece& a, const Piece& b) {
        return std::tuple(a.rank, a.block, a.target.start) <
               std::tuple(b.rank, b.block, b.target.start);
    });
}

} // namespace

ReadPlanner::ReadPlanner(const StepInfo& step, std::uint32_t field) : field_(field) {
    if (field >= step.fields.size())
        throw ModelError("The step has no field of the number " + std::to_string(field) + ".");
    std::vector<Box> stored;
    bool with_ghosts = false;
    for (std::size_t b = 0; b < step.blocks.size(); ++b) {
        const Block& block = step.blocks[b];
        const auto array = array_of(block, field);
        if (!array)
            continue;
        const Box owned = block.owned(step.fields[field].association);
        if (owned.empty())
            continue;
        stored.push_back(stored_box(step, block, block.arrays[*array]));
        with_ghosts = with_ghosts || stored.back() != owned;
        owned_.push_back(owned);
        blocks_.push_back({block.rank, static_cast<std::uint32_t>(b), *array, stored.back()});
    }
    owned_index_ = BoxIndex(owned_);
    if (with_ghosts)
        stored_index_ = BoxIndex(stored);
}

ReadPlan ReadPlanner::plan(const Box& box) const {
    require_valid(box);
    ReadPlan plan;
    plan.box = box;
    if (box.empty())
        return plan;
    std::vector<Box> covered;
    add_owned(plan, covered);
    std::int64_t volume = 0;
    for (const Box& part : covered)
        volume += part.volume();
    if (volume != box.volume())
        add_from_ghosts(plan, holes(box, covered, plan.comparisons));
    sort_pieces(plan);
    return plan;
}

void ReadPlanner::add_owned(ReadPlan& plan, std::vector<Box>& covered) const {
    std::vector<std::uint32_t> hits, neighbours;
    plan.comparisons += owned_index_.find(plan.box, hits);
    std::sort(hits.begin(), hits.end());
    BoxSet parts;
    for (const std::uint32_t self : hits) {
        const Box mine = intersect(owned_[self], plan.box);
        neighbours.clear();
        plan.comparisons += owned_index_.find(mine, neighbours);
        std::erase_if(neighbours, [&](std::uint32_t other) { return other >= self; });
        // Subtract faces before edges and corners: the remainder is then one box.
        std::sort(neighbours.begin(), neighbours.end(), [&](std::uint32_t a, std::uint32_t b) {
            const auto va = intersect(owned_[a], mine).volume();
            const auto vb = intersect(owned_[b], mine).volume();
            return std::tuple(-va, a) < std::tuple(-vb, b);
        });
        parts.assign(1, mine);
        for (const std::uint32_t other : neighbours) {
            if (parts.empty())
                break;
            plan.comparisons += parts.size();
            subtract(parts, owned_[other]);
        }
        for (const Box& part : parts) {
            add(plan, self, part, false);
            covered.push_back(part);
        }
    }
}

void ReadPlanner::add_from_ghosts(ReadPlan& plan, const std::vector<Box>& holes) const {
    std::vector<std::uint32_t> hits;
    for (const Box& hole : holes) {
        hits.clear();
        plan.comparisons += stored_index_.find(hole, hits);
        std::sort(hits.begin(), hits.end());
        BoxSet rest{hole};
        for (const std::uint32_t holder : hits) {
            plan.comparisons += rest.size();
            for (const Box& part : rest)
                if (overlap(part, blocks_[holder].stored))
                    add(plan, holder, intersect(part, blocks_[holder].stored), true);
            subtract(rest, blocks_[holder].stored);
        }
        plan.missing.insert(plan.missing.end(), rest.begin(), rest.end());
    }
    coalesce(plan.missing);
}

void ReadPlanner::add(ReadPlan& plan, std::size_t block, const Box& part, bool ghost) const {
    const StoredBlock& from = blocks_[block];
    plan.pieces.push_back({from.rank, from.block, from.array, relative_to(part, from.stored.start),
                           relative_to(part, plan.box.start), ghost});
}

ReadPlan ReadPlanner::plan_block(const StepInfo& step, std::uint32_t block,
                                 bool with_ghosts) const {
    if (block >= step.blocks.size())
        throw ModelError("The step has no block of the number " + std::to_string(block) + ".");
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
