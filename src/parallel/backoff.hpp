#pragma once

#include <mpi.h>

#include <chrono>
#include <span>

namespace uzushio::parallel {

/// Maximum wait for other ranks in an exchange.
inline constexpr std::chrono::nanoseconds exchange_limit = std::chrono::minutes(10);

/// Pauses of a polling loop: the thread yields its core at first, then sleeps with a growing
/// interval of up to 1 ms. After 0.1 s of sleep the interval is 5 ms: the added delay is at most a
/// twentieth of the wait, and a long wait takes almost no time of a core that other ranks need.
class Backoff {
  public:
    void pause();

  private:
    int yields_ = 0;
    std::chrono::nanoseconds sleep_ = std::chrono::microseconds(20);
    std::chrono::nanoseconds slept_{};
};

/// Complete all requests; the thread sleeps between tests.
void blocking_wait(std::span<MPI_Request> requests);
inline void blocking_wait(MPI_Request& request) { blocking_wait({&request, 1}); }

} // namespace uzushio::parallel
