#include "staging/queue/held_steps.hpp"

#include <algorithm>
#include <utility>

#include "staging/datamodel/model_error.hpp"
#include "staging/sentence.hpp"
#include "staging/wire/select.hpp"

namespace uzushio::staging {

void HeldSteps::put(std::shared_ptr<const HeldStep> step) {
    const std::lock_guard lock(mutex_);
    steps_.push_back(std::move(step));
}

std::shared_ptr<const HeldStep> HeldSteps::find(std::uint64_t sequence) const {
    const std::lock_guard lock(mutex_);
    const auto held = std::find_if(steps_.begin(), steps_.end(),
                                   [&](const auto& step) { return step->sequence == sequence; });
    return held == steps_.end() ? nullptr : *held;
}

void HeldSteps::keep(std::span<const std::uint64_t> sequences) {
    std::vector<std::shared_ptr<const HeldStep>> removed; // destroyed after the lock
    const std::lock_guard lock(mutex_);
    const auto kept = std::stable_partition(steps_.begin(), steps_.end(), [&](const auto& step) {
        return std::find(sequences.begin(), sequences.end(), step->sequence) != sequences.end();
    });
    removed.assign(std::make_move_iterator(kept), std::make_move_iterator(steps_.end()));
    steps_.erase(kept, steps_.end());
}

ConstArrayView select(const HeldStep& step, std::uint32_t rank, const PieceRequest& request) {
    const std::size_t blocks = step.part->blocks.size();
    if (request.block < step.first_block || request.block - step.first_block >= blocks)
        throw ModelError(sentence("Rank ", rank, " has no block number ", request.block,
                                  " of step ", step.sequence, "."));
    PieceRequest own = request;
    own.block -= step.first_block;
    return select(*step.part, rank, own, step.segment->bytes());
}

} // namespace uzushio::staging
