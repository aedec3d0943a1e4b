#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace uzushio::staging::mpi {

/// Makes this thread's sleeps end when they should, as long as it lives: the system adds 50 us to
/// each otherwise.
class SharpSleep {
  public:
    SharpSleep() : before_(::prctl(PR_GET_TIMERSLACK)) { ::prctl(PR_SET_TIMERSLACK, 1000); }
    SharpSleep(const SharpSleep&) = delete;
    SharpSleep& operator=(const SharpSleep&) = delete;
    ~SharpSleep() { ::prctl(PR_SET_TIMERSLACK, before_); }

  private:
    int before_;
};

/// Pauses between looks at data that are on their way: MPI moves large messages bit by bit, each
/// time it is called. 5 us, and longer only when nothing has come for some time.
class Naps {
  public:
    /// Something has come.
    void refresh() { *this = {}; }
    void pause() {
        std::this_thread::sleep_for(nap_);
        slept_ += nap_;
        if (slept_ > patience)
            nap_ = std::min(longest, nap_ + nap_ / 2);
    }

  private:
    static constexpr std::chrono::nanoseconds longest = std::chrono::microseconds(500);
    static constexpr std::chrono::nanoseconds patience = std::chrono::milliseconds(20);

    std::chrono::nanoseconds nap_ = std::chrono::microseconds(5);
    std::chrono::nanoseconds slept_{};
};

} // namespace uzushio::staging::mpi
