#pragma once

#include <sys/prctl.h>

namespace uzushio::staging::mpi {

/// Scope with precise sleeps of this thread: by default the system adds 50 us to each.
class TimerSlackGuard {
  public:
    TimerSlackGuard() : before_(::prctl(PR_GET_TIMERSLACK)) { ::prctl(PR_SET_TIMERSLACK, 1000); }
    TimerSlackGuard(const TimerSlackGuard&) = delete;
    TimerSlackGuard& operator=(const TimerSlackGuard&) = delete;
    ~TimerSlackGuard() { ::prctl(PR_SET_TIMERSLACK, before_); }

  private:
    int before_;
};

} // namespace uzushio::staging::mpi
