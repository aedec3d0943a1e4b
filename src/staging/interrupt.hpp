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

/// The program is to stop, and a wait for readers ended therefore: the stream may be used further.
class WaitStopped : public Interrupted {
  public:
    using Interrupted::Interrupted;
};

/// As long as it lives, long waits of this thread call `look` some times a second, and end with
/// what it throws. Called without any of staging's locks. Those of outer scopes are called first.
class WaitScope {
  public:
    explicit WaitScope(std::function<void()> look);
    WaitScope(const WaitScope&) = delete;
    WaitScope& operator=(const WaitScope&) = delete;
    ~WaitScope();

  private:
    friend void throw_if_interrupted();
    void look() const;

    std::function<void()> look_;
    const WaitScope* outer_;
};

/// As long as it lives, long waits of this thread ask `asked`, and end with Interrupted once it
/// says yes: for programs whose signals are looked at by the program itself, Python's say. It must
/// go on to say yes then.
///
/// All waits for others ask: for readers, for room in the queue, for a writer, for values, for the
/// other ranks. What ranks do together is brought to an end together where that takes no more than
/// a moment; else this rank leaves, which the others hear of: see Team.
class InterruptScope {
  public:
    explicit InterruptScope(std::function<bool()> asked);

  private:
    WaitScope scope_;
};

/// As long as it lives, this thread's waits for readers (for those that are to come, for room in
/// the queue, and at the close) ask `asked`, and end with WaitStopped once it says yes: for
/// programs that note a signal, and finish what they are at. Other waits go on, and so does the
/// stream.
class StopScope {
  public:
    explicit StopScope(std::function<bool()> asked);
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;
    ~StopScope();

  private:
    friend WaitScope heed_stop(std::chrono::nanoseconds grace);

    std::function<bool()> asked_;
    const StopScope* outer_;
};

/// As long as it lives, long waits of this thread ask its innermost StopScope, if any, once they
/// have lasted for `grace`.
[[nodiscard]] WaitScope heed_stop(std::chrono::nanoseconds grace = std::chrono::nanoseconds(0));

/// Longest that a wait goes on without asking.
constexpr std::chrono::milliseconds between_interrupts{100};

/// Throws Interrupted if this thread's scopes, if any, say so; or what else they throw.
void throw_if_interrupted();

/// The same for waits that look far more often than they should ask.
class InterruptWatch {
  public:
    void look() {
        const auto now = std::chrono::steady_clock::now();
        if (now < due_)
            return;
        due_ = now + between_interrupts;
        throw_if_interrupted();
    }

  private:
    std::chrono::steady_clock::time_point due_ =
        std::chrono::steady_clock::now() + between_interrupts;
};

} // namespace uzushio::staging
