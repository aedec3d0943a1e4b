#pragma once

#include <mpi.h>

#include <chrono>
#include <span>

namespace uzushio::staging {

/// Pauses between looks at something that other threads or ranks do: it yields the core at first,
/// then sleeps, longer each time, up to a millisecond. After 0.1 s without anything it sleeps 5 ms
/// at a time: what comes then is seen late by a twentieth of the wait so far at most, and a long
/// wait takes next to nothing of the core of a rank that computes.
class Pauses {
  public:
    void pause();

  private:
    int yields_ = 0;
    std::chrono::nanoseconds sleep_ = std::chrono::microseconds(20);
    std::chrono::nanoseconds slept_{};
};

/// Complete all requests, asleep.
void wait_asleep(std::span<MPI_Request> requests);
inline void wait_asleep(MPI_Request& request) { wait_asleep({&request, 1}); }

} // namespace uzushio::staging
