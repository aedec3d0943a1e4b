#include "staging/transport/mpi/pull_lane.hpp"

#include <utility>

#include "staging/staging_error.hpp"

namespace uzushio::staging::mpi {

PullLane::PullLane(std::unique_ptr<GetLane> get, int writer,
                   std::function<std::unique_ptr<Lane>(std::size_t)> ask)
    : get_(std::move(get)), writer_(writer), ask_(std::move(ask)) {}

bool PullLane::progress() {
    if (rest_)
        return rest_->progress();
    const bool moved = get_->progress();
    const auto first = get_->refused();
    if (!first)
        return moved;
    refusal_ = get_->refusal();
    get_.reset();
    rest_ = ask_(*first);
    return true;
}

bool PullLane::done() const { return rest_ ? rest_->done() : get_->done(); }

void PullLane::give_up() const {
    if (rest_)
        throw PeerGone("The memory of the writer's rank " + std::to_string(writer_) +
                       " can no longer be read (" + refusal_ +
                       "), and it does not answer: the writer has closed the stream without "
                       "waiting for this reader, or is stopped.");
}

} // namespace uzushio::staging::mpi
