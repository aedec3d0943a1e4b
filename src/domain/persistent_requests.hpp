#pragma once

#include <mpi.h>

#include <vector>

namespace uzushio::domain {

/// Persistent requests of one direction, freed with the object unless MPI is already finalized.
class PersistentRequests {
  public:
    PersistentRequests() = default;
    PersistentRequests(const PersistentRequests&) = delete;
    PersistentRequests& operator=(const PersistentRequests&) = delete;
    ~PersistentRequests() {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (!finalized)
            for (MPI_Request& request : requests_)
                MPI_Request_free(&request);
    }

    /// A request for the caller to fill.
    [[nodiscard]] MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
    [[nodiscard]] int count() const { return static_cast<int>(requests_.size()); }
    void start(std::size_t which) { MPI_Start(&requests_[which]); }
    void start_all() {
        if (!requests_.empty())
            MPI_Startall(count(), requests_.data());
    }
    /// Return the place of a request that is complete; all those started must be waited for.
    [[nodiscard]] std::size_t wait_any() {
        int which = 0;
        MPI_Waitany(count(), requests_.data(), &which, MPI_STATUS_IGNORE);
        return static_cast<std::size_t>(which);
    }
    void wait_all() { MPI_Waitall(count(), requests_.data(), MPI_STATUSES_IGNORE); }
    /// End started receives whose messages may never come.
    void cancel() {
        for (MPI_Request& request : requests_) {
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }

  private:
    std::vector<MPI_Request> requests_;
};

} // namespace uzushio::domain
