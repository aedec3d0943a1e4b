#pragma once

#include <chrono>

#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// Lets readers at the steps that one rank holds, in a thread of its own while the solver goes on.
/// Every rank of a writer has one; that of rank 0 also takes readers in and announces steps to
/// them. Made by an engine with what it serves from: HeldSteps, and on rank 0 the Queue.
class Service {
  public:
    virtual ~Service() = default; ///< stops at once

    /// Where readers reach this rank.
    [[nodiscard]] virtual Endpoint endpoint() const = 0;
    /// On rank 0: where they reach all ranks. From here on readers may come.
    virtual void open(const Endpoints& all) = 0;
    /// After the queue is closed and drained: say End to the readers that are left, then stop.
    /// Takes no longer than `limit`.
    virtual void close(std::chrono::nanoseconds limit) = 0;
};

} // namespace uzushio::staging
