#include "staging/interrupt.hpp"

#include <utility>

namespace uzushio::staging {
namespace {

thread_local const WaitScope* innermost = nullptr;
thread_local const StopScope* innermost_stop = nullptr;

} // namespace

WaitScope::WaitScope(std::function<void()> look)
    : look_(std::move(look)), outer_(std::exchange(innermost, this)) {}

WaitScope::~WaitScope() { innermost = outer_; }

void WaitScope::look() const {
    if (outer_ != nullptr)
        outer_->look();
    look_();
}

InterruptScope::InterruptScope(std::function<bool()> asked)
    : scope_([asked = std::move(asked)] {
          if (asked())
              throw Interrupted("The wait was interrupted.");
      }) {}

StopScope::StopScope(std::function<bool()> asked)
    : asked_(std::move(asked)), outer_(std::exchange(innermost_stop, this)) {}

StopScope::~StopScope() { innermost_stop = outer_; }

WaitScope heed_stop(std::chrono::nanoseconds grace) {
    const auto from = std::chrono::steady_clock::now() + grace;
    return WaitScope([from] {
        if (innermost_stop != nullptr && std::chrono::steady_clock::now() >= from &&
            innermost_stop->asked_())
            throw WaitStopped("The wait for readers was given up, because the program is to stop.");
    });
}

void throw_if_interrupted() {
    if (innermost != nullptr)
        innermost->look();
}

} // namespace uzushio::staging
