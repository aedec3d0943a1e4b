#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "staging/command.hpp"
#include "staging/queue/delivery.hpp"

namespace uzushio::staging {

class Queue;

/// Reader of a Queue, made by `Queue::attach`. The destructor detaches it and releases its steps.
/// It shares the ownership of the queue. Members are thread-safe, except the destructor and moves.
/// After it was moved, it can only be destroyed or assigned to.
class QueueReader {
  public:
    QueueReader(std::shared_ptr<Queue> queue, std::uint64_t id);

    /// Wait for the next step up to `limit`. Zero: do not wait.
    [[nodiscard]] Delivery next(std::chrono::nanoseconds limit);

    /// Set whether this reader receives only the newest step: older ones are dropped for it at any
    /// time, and no policy waits for it to receive a step. A step that it holds does not count in
    /// the depth.
    void set_latest_only(bool latest_only);

    /// Release a step. Returns false if the reader does not hold it: a request of a remote reader
    /// may be wrong.
    bool release(std::uint64_t sequence);

    /// Detach, and release all steps; ends a wait in `next`. May be called again.
    void detach();

    /// Pass a command to the writing program. Returns false if too many have no reply yet.
    [[nodiscard]] bool send(Command command);
    [[nodiscard]] std::optional<Reply> next_reply();

    [[nodiscard]] std::uint64_t delivered() const;
    /// Steps that were published while it was attached, and dropped before it received them.
    [[nodiscard]] std::uint64_t missed() const;
    /// Whether the solver's wait for it timed out, and it has not been active since.
    [[nodiscard]] bool stalled() const;

  private:
    struct Detacher {
        std::shared_ptr<Queue> owner;
        std::uint64_t id;
        void operator()(Queue* queue) const;
    };
    [[nodiscard]] std::uint64_t id() const { return queue_.get_deleter().id; }

    std::unique_ptr<Queue, Detacher> queue_;
};

} // namespace uzushio::staging
