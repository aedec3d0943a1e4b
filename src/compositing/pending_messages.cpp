#include "compositing/pending_messages.hpp"

namespace uzushio::compositing {

void PendingMessages::reserve(std::size_t messages) {
    requests_.reserve(messages);
    targets_.reserve(messages);
    if (completed_.size() < messages) {
        completed_.resize(messages);
        statuses_.resize(messages);
    }
}

MPI_Request* PendingMessages::add(CompletionTarget target) {
    if (pending_ == 0) {
        requests_.clear();
        targets_.clear();
    }
    requests_.push_back(MPI_REQUEST_NULL);
    targets_.push_back(target);
    ++pending_;
    return &requests_.back();
}

void PendingMessages::send(const void* data, std::size_t bytes, int to, int tag, MPI_Comm comm,
                           int frame) {
    MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, comm, add({frame, -1, to}));
}

void PendingMessages::receive(void* data, std::size_t max_bytes, int from, int tag, MPI_Comm comm,
                              CompletionTarget target) {
    MPI_Irecv(data, static_cast<int>(max_bytes), MPI_BYTE, from, tag, comm, add(target));
}

int PendingMessages::complete(bool wait) {
    if (pending_ == 0)
        return 0;
    // Remove the messages that completed in earlier calls.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i)
        if (requests_[i] != MPI_REQUEST_NULL) {
            requests_[kept] = requests_[i];
            targets_[kept++] = targets_[i];
        }
    requests_.resize(kept);
    targets_.resize(kept);
    if (completed_.size() < kept) {
        completed_.resize(kept);
        statuses_.resize(kept);
    }
    int count = 0;
    (wait ? MPI_Waitsome : MPI_Testsome)(static_cast<int>(kept), requests_.data(), &count,
                                         completed_.data(), statuses_.data());
    return count == MPI_UNDEFINED ? 0 : count;
}

} // namespace uzushio::compositing
