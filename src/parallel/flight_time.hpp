#pragma once

#include <chrono>

#include "parallel/counter_clock.hpp"

namespace uzushio::parallel {

/// Time during which non-blocking communication of this rank was in flight: between the call that
/// begins it and the call that finds it complete. The part that is not spent in calls of MPI is
/// hidden behind computing.
class FlightTime {
  public:
    /// Call `call`, which begins, tests or completes communication and returns whether any is in
    /// flight afterwards.
    template <class Call> void run(Call&& call) {
        const auto begin = CounterClock::now();
        if (in_flight_)
            hidden_ += seconds(begin - last_);
        in_flight_ = call();
        last_ = CounterClock::now();
        exposed_ += seconds(last_ - begin);
    }
    /// Return the seconds in flight that this rank spent computing.
    [[nodiscard]] double hidden() const { return hidden_; }
    /// Return the seconds in calls of MPI.
    [[nodiscard]] double exposed() const { return exposed_; }
    void reset() { hidden_ = exposed_ = 0; }

  private:
    static double seconds(CounterClock::duration time) {
        return std::chrono::duration<double>(time).count();
    }

    bool in_flight_ = false;
    CounterClock::time_point last_{};
    double hidden_ = 0, exposed_ = 0;
};

} // namespace uzushio::parallel
