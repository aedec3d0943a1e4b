#include "domain/redistribution_plan.hpp"

#include <utility>

namespace uzushio::domain {
namespace {

Box<4> with_zone(const Part& part) {
    const Index<3>&lower = part.box.lower, &upper = part.box.upper;
    return {{lower[0], lower[1], lower[2], part.zone},
            {upper[0], upper[1], upper[2], part.zone + 1}};
}

BoxIndex<4> index_of(const std::vector<Part>& parts) {
    std::vector<Box<4>> boxes;
    for (const Part& part : parts)
        boxes.push_back(with_zone(part));
    return BoxIndex<4>(boxes);
}

} // namespace

std::vector<Part> parts_of(const Decomposition& decomposition) {
    std::vector<Part> parts;
    for (const Block& block : decomposition.blocks())
        parts.push_back({block.rank, block.zone, block.cells});
    return parts;
}

RedistributionPlan::RedistributionPlan(std::vector<Part> sources, std::vector<Part> targets)
    : sources_(std::move(sources)), targets_(std::move(targets)), source_index_(index_of(sources_)),
      target_index_(index_of(targets_)) {}

std::vector<Move> RedistributionPlan::moves_to(std::size_t target, BoxSet<3>* missing) const {
    std::vector<Move> moves;
    BoxSet<3> open;
    if (!targets_[target].box.empty())
        open.push_back(targets_[target].box);
    for (const std::uint32_t source : source_index_.find(with_zone(targets_[target]))) {
        for (const Box<3>& box : open)
            if (const Box<3> part = intersect(box, sources_[source].box); !part.empty())
                moves.push_back({source, target, part});
        subtract(open, sources_[source].box);
    }
    if (missing)
        missing->insert(missing->end(), open.begin(), open.end());
    return moves;
}

std::vector<Move> RedistributionPlan::moves_from(std::size_t source) const {
    std::vector<Move> moves;
    for (const std::uint32_t target : target_index_.find(with_zone(sources_[source])))
        for (const Move& move : moves_to(target))
            if (move.source == source)
                moves.push_back(move);
    return moves;
}

} // namespace uzushio::domain
