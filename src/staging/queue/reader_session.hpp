#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "staging/queue/queue.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// An encoded Announce: what the queue of a writer's rank 0 holds for each step.
using Announcement = std::vector<std::byte>;

/// What a writer's rank 0 says to one reader on its control connection, whatever carries it. Its
/// end detaches the reader and frees what it held. A reader holds one step at a time: the next one
/// waits for its release, so that one who only asks cannot fill the queue.
class ReaderSession {
  public:
    /// The queue's payloads must be Announcements.
    explicit ReaderSession(Queue& queue);

    /// Take up a message of the reader: Next, Release or Detach. Returns Error if it is none of
    /// these, or releases what the reader does not have; then the connection is to be closed.
    [[nodiscard]] std::optional<Error> receive(const Message& message);

    /// What is to be sent now, as encoded bytes, if anything. To be asked after each `receive` and
    /// whenever the queue has news (Queue::on_news).
    [[nodiscard]] std::shared_ptr<const std::vector<std::byte>> poll();

    /// The same when the service stops, whether the reader asks or not: End, unless it was sent.
    [[nodiscard]] std::shared_ptr<const std::vector<std::byte>> end();

    /// Nothing more will be sent: End was, or the reader has left.
    [[nodiscard]] bool finished() const { return finished_; }

  private:
    QueueReader reader_;
    bool waiting_ = false; ///< for a step, since Next
    bool holds_ = false;   ///< a step that was announced and not released
    bool finished_ = false;
    std::uint64_t steps_ = 0;
};

} // namespace uzushio::staging
