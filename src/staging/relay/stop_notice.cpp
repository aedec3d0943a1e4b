#include "staging/relay/stop_notice.hpp"

#include "parallel/communicator.hpp"

namespace uzushio::staging::relay {
namespace {

constexpr int tag = parallel::CollectiveGroup::first_free_tag;

} // namespace

StopNotice::StopNotice(const parallel::CollectiveGroup& group) : group_(group) {
    if (group_.rank() != 0)
        MPI_Irecv(nullptr, 0, MPI_BYTE, 0, tag, group_.comm(), &request_);
}

StopNotice::~StopNotice() {
    if (parallel::mpi_is_finalized() || request_ == MPI_REQUEST_NULL)
        return;
    MPI_Cancel(&request_);
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
}

void StopNotice::send() {
    if (stopped_ || group_.rank() != 0)
        return;
    stopped_ = true;
    // Empty, so that it is sent at once, also if no rank waits for it.
    for (int rank = 1; rank < group_.size(); ++rank)
        MPI_Send(nullptr, 0, MPI_BYTE, rank, tag, group_.comm());
}

bool StopNotice::received() {
    if (request_ == MPI_REQUEST_NULL)
        return stopped_;
    int done = 0;
    MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
    stopped_ = stopped_ || done != 0;
    return stopped_;
}

} // namespace uzushio::staging::relay
