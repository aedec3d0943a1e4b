#pragma once

#include <chrono>
#include <functional>

#include "parallel/wait_hook.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging {

/// A wait ended because the user interrupted it.
class Interrupted : public StagingError, public parallel::Interruption {
  public:
    using StagingError::StagingError;
};

/// A wait for readers ended because the program is to stop. The stream remains usable.
class WaitStopped : public Interrupted {
  public:
    using Interrupted::Interrupted;
};

/// Scope in which long waits of this thread call `interrupted`, and end with Interrupted once it
/// returns true. For programs that check for signals themselves, such as Python. `interrupted` must
/// return true from then on.
///
/// It applies to waits for readers, for space in the queue, for a writer, for values and for other
/// ranks. If a collective wait does not complete within a grace period, this rank aborts its group:
/// see parallel::CollectiveGroup.
class InterruptScope {
  public:
    explicit InterruptScope(std::function<bool()> interrupted);

  private:
    parallel::WaitHook hook_;
};

/// Scope in which this thread's waits for readers (for the first ones, for space in the queue, and
/// at the close) call `stopped`, and end with WaitStopped once it returns true. For programs that
/// record a signal and finish their current work. Other waits, and the stream, continue.
class StopScope {
  public:
    explicit StopScope(std::function<bool()> stopped);
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;
    ~StopScope();

  private:
    friend parallel::WaitHook stop_hook(std::chrono::nanoseconds grace_period);

    std::function<bool()> stopped_;
    const StopScope* outer_;
};

/// Return a hook for waits for readers: it applies this thread's innermost StopScope, if any, once
/// `grace_period` has passed.
[[nodiscard]] parallel::WaitHook
stop_hook(std::chrono::nanoseconds grace_period = std::chrono::nanoseconds(0));

} // namespace uzushio::staging
