#include "staging/transport/mpi/pending_sends.hpp"

#include <mutex>
#include <utility>

#include "parallel/communicator.hpp"
#include "staging/transport/mpi/job_state.hpp"

namespace uzushio::staging::mpi {

namespace {

struct AbandonedRequests {
    std::mutex mutex;
    std::vector<std::pair<MPI_Request, std::shared_ptr<const void>>> requests;
};

} // namespace

void abandon(MPI_Request request, std::shared_ptr<const void> memory) {
    auto& abandoned = job_state<AbandonedRequests>();
    const std::lock_guard lock(abandoned.mutex);
    std::erase_if(abandoned.requests, [](auto& pending) {
        int done = 0;
        MPI_Test(&pending.first, &done, MPI_STATUS_IGNORE);
        return done != 0;
    });
    abandoned.requests.emplace_back(request, std::move(memory));
}

PendingSends::~PendingSends() {
    if (parallel::mpi_is_finalized() || test_all())
        return;
    for (auto& pending : sending_)
        abandon(pending.request, std::move(pending.bytes));
}

void PendingSends::send(MPI_Comm comm, int to, int tag, Bytes bytes) {
    Sending& pending = sending_.emplace_back();
    pending.bytes = std::move(bytes);
    MPI_Isend(pending.bytes->data(), static_cast<int>(pending.bytes->size()), MPI_BYTE, to, tag,
              comm, &pending.request);
}

bool PendingSends::test_all() {
    std::erase_if(sending_, [](Sending& pending) {
        int done = 0;
        MPI_Test(&pending.request, &done, MPI_STATUS_IGNORE);
        return done != 0;
    });
    return sending_.empty();
}

bool receive(MPI_Comm comm, int from, int tag, ReceivedBytes& message) {
    int there = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(from, tag, comm, &there, &handle, &status);
    if (!there)
        return false;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    message.from = status.MPI_SOURCE;
    message.bytes.resize(static_cast<std::size_t>(bytes));
    MPI_Mrecv(message.bytes.data(), bytes, MPI_BYTE, &handle, MPI_STATUS_IGNORE);
    return true;
}

} // namespace uzushio::staging::mpi
