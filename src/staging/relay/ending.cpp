#include "staging/relay/ending.hpp"

namespace uzushio::staging::relay {
namespace {

constexpr int tag = 1;

} // namespace

Ending::Ending(const parallel::CollectiveGroup& group) : group_(group) {
    if (group_.rank() != 0)
        MPI_Irecv(nullptr, 0, MPI_BYTE, 0, tag, group_.comm(), &request_);
}

Ending::~Ending() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized || request_ == MPI_REQUEST_NULL)
        return;
    MPI_Cancel(&request_);
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
}

void Ending::announce() {
    if (told_ || group_.rank() != 0)
        return;
    told_ = true;
    // Empty, so that it goes off at once, whether or not it is still waited for.
    for (int rank = 1; rank < group_.size(); ++rank)
        MPI_Send(nullptr, 0, MPI_BYTE, rank, tag, group_.comm());
}

bool Ending::announced() {
    if (request_ == MPI_REQUEST_NULL)
        return told_;
    int done = 0;
    MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
    told_ = told_ || done != 0;
    return told_;
}

} // namespace uzushio::staging::relay
