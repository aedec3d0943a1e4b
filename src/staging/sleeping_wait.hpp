#pragma once

#include <mpi.h>

#include <chrono>
#include <span>

namespace uzushio::staging {

/// Pauses between looks at something that other threads or ranks do: it yields the core at first,
/// then sleeps, longer each time, up to a millisecond. What comes soon is seen soon, and a long
/// wait takes no core from the ranks that compute.
class Pauses {
  public:
    void pause();

  private:
    int yields_ = 0;
    std::chrono::nanoseconds sleep_ = std::chrono::microseconds(20);
};

/// Complete all requests, asleep.
void wait_asleep(std::span<MPI_Request> requests);
inline void wait_asleep(MPI_Request& request) { wait_asleep({&request, 1}); }

} // namespace uzushio::staging
