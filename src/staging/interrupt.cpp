#include "staging/interrupt.hpp"

#include <utility>

namespace uzushio::staging {
namespace {

thread_local const WaitScope* innermost = nullptr;

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

void throw_if_interrupted() {
    if (innermost != nullptr)
        innermost->look();
}

} // namespace uzushio::staging
