#pragma once

#include <chrono>
#include <functional>

#include "staging/staging_error.hpp"

namespace uzushio::staging {

/// Someone asked for the end of a wait.
class Interrupted : public StagingError {
  public:
    using StagingError::StagingError;
};

/// As long as it lives, long waits of this thread ask `asked` ten times a second and end with
/// Interrupted once it says yes: for programs whose signals are looked at by the program itself,
/// Python's say. Asked without any of staging's locks, and where a wait may end: for readers to
/// come, for room in the queue, for readers to finish, for a writer that is not there yet. What
/// ranks do together is never left half done: the other ranks are told as of any other error.
class InterruptScope {
  public:
    explicit InterruptScope(std::function<bool()> asked);
    InterruptScope(const InterruptScope&) = delete;
    InterruptScope& operator=(const InterruptScope&) = delete;
    ~InterruptScope();

  private:
    std::function<bool()> asked_;
    const std::function<bool()>* before_;
};

/// Longest that a wait goes on without asking.
constexpr std::chrono::milliseconds between_interrupts{100};

/// Throws Interrupted if this thread's scope, if any, says so.
void throw_if_interrupted();

} // namespace uzushio::staging
