#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "staging/queue/queue.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// Encoded Announce: the payload of the queue on a writer's rank 0.
using EncodedAnnounce = std::vector<std::byte>;

/// Control protocol of a writer's rank 0 with one reader, independent of the transport. The
/// destructor detaches the reader and releases its steps. A reader holds one step at a time: the
/// next one is announced after its release, so that requests cannot fill the queue.
class ReaderSession {
  public:
    /// The queue's payloads must be Announcements.
    explicit ReaderSession(Queue& queue);

    /// Handle a message of the reader: Next, Release, Command or Detach. Returns Error for other
    /// messages, and for the release of a step that the reader does not hold; the connection must
    /// then be closed.
    [[nodiscard]] std::optional<Error> receive(const Message& message);

    /// Return the encoded message to send now, or null. Call it after each `receive`, and when the
    /// queue has changed (Queue::on_change).
    [[nodiscard]] std::shared_ptr<const std::vector<std::byte>> poll();

    /// Return End, unless it was sent: for the stop of the service.
    [[nodiscard]] std::shared_ptr<const std::vector<std::byte>> end();

    /// Whether no further message is sent: End was sent, or the reader has detached.
    [[nodiscard]] bool finished() const { return finished_; }

  private:
    QueueReader reader_;
    bool waiting_ = false; ///< for a step, since Next
    bool holds_ = false;   ///< a step that was announced and not released
    bool finished_ = false;
    std::uint64_t steps_ = 0;
};

} // namespace uzushio::staging
