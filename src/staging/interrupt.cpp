#include "staging/interrupt.hpp"

#include <utility>

namespace uzushio::staging {
namespace {

thread_local const StopScope* innermost = nullptr;

} // namespace

InterruptScope::InterruptScope(std::function<bool()> interrupted)
    : hook_([interrupted = std::move(interrupted)] {
          if (interrupted())
              throw Interrupted("The wait was interrupted.");
      }) {}

StopScope::StopScope(std::function<bool()> stopped)
    : stopped_(std::move(stopped)), outer_(std::exchange(innermost, this)) {}

StopScope::~StopScope() { innermost = outer_; }

parallel::WaitHook stop_hook(std::chrono::nanoseconds grace_period) {
    const auto from = std::chrono::steady_clock::now() + grace_period;
    return parallel::WaitHook([from] {
        if (innermost != nullptr && std::chrono::steady_clock::now() >= from &&
            innermost->stopped_())
            throw WaitStopped(
                "The wait for readers was cancelled, because the program is to stop.");
    });
}

} // namespace uzushio::staging
