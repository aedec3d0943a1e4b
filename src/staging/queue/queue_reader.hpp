#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "staging/queue/delivery.hpp"

namespace uzushio::staging {

class QueueState;

/// One reader of a Queue, from `Queue::attach` on. Its end detaches it and frees what it held. It
/// outlives the queue safely. Every member but the destructor and moves may be called from any
/// thread.
class QueueReader {
  public:
    QueueReader() = default;
    QueueReader(std::shared_ptr<QueueState> state, std::uint64_t id);
    QueueReader(QueueReader&& other) noexcept;
    QueueReader& operator=(QueueReader&& other) noexcept;
    ~QueueReader();

    /// The next step, waiting for it no longer than `limit`; zero only looks.
    [[nodiscard]] Delivery next(std::chrono::nanoseconds limit);

    /// This step is needed no more. False if the reader does not have it: a request of a remote
    /// reader may be wrong.
    bool release(std::uint64_t sequence);

    /// Leave, and release everything; a `next` that waits returns. May be called again.
    void detach();

    [[nodiscard]] std::uint64_t delivered() const;
    /// Steps that were published while attached and dropped before this reader got them.
    [[nodiscard]] std::uint64_t missed() const;
    /// Whether the solver once waited for it in vain, and it has not moved since.
    [[nodiscard]] bool stalled() const;

  private:
    std::shared_ptr<QueueState> state_;
    std::uint64_t id_ = 0;
};

} // namespace uzushio::staging
