#pragma once

#include <mpi.h>

#include <mutex>

#include "parallel/backoff.hpp"

namespace uzushio::parallel {

/// Calls of MPI by the threads of a rank, one at a time, as `MPI_THREAD_SERIALIZED` allows.
class MpiTurn {
  public:
    /// `several`: whether more than one thread calls.
    explicit MpiTurn(bool several) : several_(several) {}

    /// Call `call`, which must not wait for other ranks.
    template <class Call> void call(Call&& call) {
        std::unique_lock turn(mutex_, std::defer_lock);
        if (several_)
            turn.lock();
        call();
    }
    /// Complete a request.
    void wait(MPI_Request& request) {
        if (!several_) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            return;
        }
        Backoff backoff;
        for (;;) {
            int done = 0;
            call([&] { MPI_Test(&request, &done, MPI_STATUS_IGNORE); });
            if (done != 0)
                return;
            backoff.pause();
        }
    }

  private:
    bool several_;
    std::mutex mutex_;
};

} // namespace uzushio::parallel
