#pragma once

#include <chrono>

#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// Service that gives readers access to the steps of one rank, in a background thread. Every rank
/// of a writer has one; the service of rank 0 also accepts readers and announces steps to them.
/// Made by an engine with HeldSteps and, on rank 0, the Queue.
class Service {
  public:
    virtual ~Service() = default; ///< stops at once

    /// Return the address at which readers reach this rank.
    [[nodiscard]] virtual Endpoint endpoint() const = 0;
    /// On rank 0: accept readers from now on. `all` are the endpoints of all ranks.
    virtual void open(const Endpoints& all) = 0;
    /// Send End to the remaining readers, then stop, within `limit`. Call after the queue is closed
    /// and drained.
    virtual void close(std::chrono::nanoseconds limit) = 0;
};

} // namespace uzushio::staging
