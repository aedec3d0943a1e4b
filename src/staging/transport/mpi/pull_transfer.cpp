#include "staging/transport/mpi/pull_transfer.hpp"

#include <utility>

#include "staging/sentence.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging::mpi {

PullTransfer::PullTransfer(std::unique_ptr<GetTransfer> get, int writer,
                           std::function<std::unique_ptr<RankTransfer>(std::size_t)> request)
    : get_(std::move(get)), writer_(writer), make_request_transfer_(std::move(request)) {}

bool PullTransfer::progress() {
    if (fallback_)
        return fallback_->progress();
    const bool moved = get_->progress();
    const auto first = get_->refused();
    if (!first)
        return moved;
    refusal_ = get_->refusal();
    get_.reset();
    fallback_ = make_request_transfer_(*first);
    return true;
}

bool PullTransfer::done() const { return fallback_ ? fallback_->done() : get_->done(); }

void PullTransfer::throw_if_unreachable() const {
    if (fallback_)
        throw PeerGone(sentence(
            "The memory of the writer's rank ", writer_, " can no longer be read (", refusal_,
            "), and it does not answer: the writer has closed the stream without "
            "waiting for this reader, or is stopped."));
}

} // namespace uzushio::staging::mpi
