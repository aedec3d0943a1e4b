#include "domain/redistribution_plan.hpp"

#include <utility>

namespace uzushio::domain {
namespace {

Box<4> with_zone(const Part& part) {
    const Index<3>&lower = part.box.lower, &upper = part.box.upper;
    return {{lower[0], lower[1], lower[2], part.zone},
            {upper[0], upper[1], upper[2], part.zone + 1}};
}

Box<3> without_zone(const Box<4>& box) {
    return {{box.lower[0], box.lower[1], box.lower[2]}, {box.upper[0], box.upper[1], box.upper[2]}};
}

std::vector<Box<4>> with_zones(const std::vector<Part>& parts) {
    std::vector<Box<4>> boxes;
    for (const Part& part : parts)
        boxes.push_back(with_zone(part));
    return boxes;
}

} // namespace

std::vector<Part> parts_of(const Decomposition& decomposition) {
    std::vector<Part> parts;
    for (const Block& block : decomposition.blocks())
        parts.push_back({block.rank, block.zone, block.cells});
    return parts;
}

RedistributionPlan::RedistributionPlan(std::vector<Part> sources, std::vector<Part> targets)
    : sources_(std::move(sources)), targets_(std::move(targets)), owners_(with_zones(sources_)),
      target_index_(with_zones(targets_)) {}

std::vector<Move> RedistributionPlan::moves_to(std::size_t target, BoxSet<3>* missing) const {
    std::vector<FirstOwners<4>::Part> parts;
    BoxSet<4> holes;
    owners_.find(with_zone(targets_[target]), parts, missing ? &holes : nullptr);
    std::vector<Move> moves;
    for (const auto& part : parts)
        moves.push_back({part.owner, target, without_zone(part.box)});
    for (const Box<4>& hole : holes)
        missing->push_back(without_zone(hole));
    return moves;
}

std::vector<Move> RedistributionPlan::moves_from(std::size_t source) const {
    std::vector<Move> moves;
    BoxSet<4> parts;
    std::vector<std::uint32_t> others;
    for (const std::uint32_t target : target_index_.find(with_zone(sources_[source]))) {
        parts.clear();
        owners_.find_of(static_cast<std::uint32_t>(source), with_zone(targets_[target]), parts,
                        others);
        for (const Box<4>& part : parts)
            moves.push_back({source, target, without_zone(part)});
    }
    return moves;
}

} // namespace uzushio::domain
