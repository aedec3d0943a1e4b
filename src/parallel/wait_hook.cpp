#include "parallel/wait_hook.hpp"

#include <utility>

namespace uzushio::parallel {
namespace {

thread_local const WaitHook* innermost = nullptr;

} // namespace

WaitHook::WaitHook(std::function<void()> poll)
    : poll_(std::move(poll)), outer_(std::exchange(innermost, this)) {}

WaitHook::~WaitHook() { innermost = outer_; }

void WaitHook::run() const {
    if (outer_ != nullptr)
        outer_->run();
    poll_();
}

void run_wait_hooks() {
    if (innermost != nullptr)
        innermost->run();
}

} // namespace uzushio::parallel
