#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "staging/transport/mpi/pending_sends.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::mpi {

/// Dispatcher of connect messages between all processes of a job, with one tag on MPI_COMM_WORLD.
/// Nothing is collective, so that any part of the job may use it at any time.
///
/// There is one for a rank (job_state), because a message can be received only once: each call
/// receives all messages, and keeps those for other callers. Thread-safe.
class MessageDispatcher {
  public:
    MessageDispatcher();

    void send(int world_rank, ConnectMessage message);
    /// Take the oldest message that `matches` accepts.
    [[nodiscard]] std::optional<ConnectMessage>
    take(const std::function<bool(const ConnectMessage&)>& matches);

    [[nodiscard]] int rank() const { return rank_; } ///< in MPI_COMM_WORLD
    [[nodiscard]] int size() const { return size_; }

  private:
    /// Maximum of stored messages. More belong to streams that do not exist: the oldest are
    /// discarded.
    static constexpr std::size_t max_waiting = 4096;

    std::mutex mutex_;
    std::deque<ConnectMessage> waiting_;
    PendingSends sends_;
    int rank_ = 0;
    int size_ = 1;
};

} // namespace uzushio::staging::mpi
