#pragma once

#include <chrono>
#include <functional>

namespace uzushio::parallel {

/// Base class of exceptions by which the user ends a wait. A collective wait tries to complete for
/// a short grace period before it throws one; see CollectiveGroup.
class Interruption {
  public:
    virtual ~Interruption() = default;
};

/// Function that long waits of this thread call about ten times a second during the lifetime of
/// the object. An exception of the function ends the wait. No locks are held during the call. Hooks
/// of outer scopes are called first.
class WaitHook {
  public:
    explicit WaitHook(std::function<void()> poll);
    WaitHook(const WaitHook&) = delete;
    WaitHook& operator=(const WaitHook&) = delete;
    ~WaitHook();

  private:
    friend void run_wait_hooks();
    void run() const;

    std::function<void()> poll_;
    const WaitHook* outer_;
};

/// Maximum time between two calls of `run_wait_hooks` in a wait.
constexpr std::chrono::milliseconds wait_hook_interval{100};

/// Call the hooks of this thread. Their exceptions are passed on.
void run_wait_hooks();

/// Rate limit on `run_wait_hooks`, for waits that poll more often.
class WaitHookTimer {
  public:
    void poll() {
        const auto now = std::chrono::steady_clock::now();
        if (now < due_)
            return;
        due_ = now + wait_hook_interval;
        run_wait_hooks();
    }

  private:
    std::chrono::steady_clock::time_point due_ =
        std::chrono::steady_clock::now() + wait_hook_interval;
};

} // namespace uzushio::parallel
