#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "staging/queue/queue_counters.hpp"
#include "staging/queue/queue_options.hpp"
#include "staging/queue/queue_reader.hpp"
#include "staging/queue/queue_timeout.hpp"

namespace uzushio::staging {

/// Steps on their way from a solver to any number of readers, each at its own speed.
///
/// A step stays until the last reader that it was published for has released it. A reader sees the
/// steps in order, the newest one first that is there when it attaches. Nothing that a reader holds
/// is taken from it: it sees a whole step or none. All waits sleep, and end at a deadline. Any
/// thread may call anything.
class Queue {
  public:
    /// Throws std::invalid_argument if the options allow no step or a negative time.
    explicit Queue(const QueueOptions& options);
    ~Queue(); ///< closes
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    /// Offer a step of `bytes` bytes: `reserve` and `commit` in one. Returns the step's sequence
    /// number if the queue took it; what happens to it then, the policy decides.
    std::optional<std::uint64_t> publish(std::shared_ptr<void> payload, std::size_t bytes);

    /// Make room for a step before it is written, as the policy says: a step that is dropped here
    /// costs no copy. Returns whether there is room, which stays reserved until `commit` or
    /// `cancel`. Throws std::invalid_argument if such a step exceeds the limit of bytes even alone,
    /// std::logic_error if the queue is closed, and QueueTimeout if so configured.
    [[nodiscard]] bool reserve(std::size_t bytes);
    /// Put the step into the room reserved for it. Returns its sequence number.
    std::uint64_t commit(std::shared_ptr<void> payload, std::size_t bytes);
    /// Give the room back: the step will not come.
    void cancel(std::size_t bytes);

    /// No step follows: readers get what is left, then `ended`. A `reserve` that waits gives up.
    void close();

    /// Wait until readers have released all that was published for them, no longer than `limit`.
    /// Returns whether they have.
    bool drain(std::chrono::nanoseconds limit);

    /// Wait until so many readers are attached, no longer than `limit`. Returns whether they are.
    bool wait_for_readers(std::size_t readers, std::chrono::nanoseconds limit);

    /// Call `tell` whenever readers have something to look for: after a step was published, and
    /// after `close`; on the thread that did it. For services that sleep in something else than
    /// QueueReader::next. Empty: no more; then no call is under way when this returns.
    void on_news(std::function<void()> tell);

    /// Sequence numbers of the steps that are there, which readers may have or get. Others never
    /// come back.
    [[nodiscard]] std::vector<std::uint64_t> sequences() const;

    /// Steps that there may be while no reader comes or goes: the depth, or with `latest_only` one
    /// more than readers if that is more.
    [[nodiscard]] std::size_t most_steps() const;

    [[nodiscard]] QueueReader attach();
    [[nodiscard]] std::size_t readers() const;
    [[nodiscard]] QueueCounters counters() const;

  private:
    std::shared_ptr<QueueState> state_;
};

} // namespace uzushio::staging
