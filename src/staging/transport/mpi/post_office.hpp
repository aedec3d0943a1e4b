#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "staging/transport/mpi/letter.hpp"
#include "staging/transport/mpi/outgoing.hpp"

namespace uzushio::staging::mpi {

/// Letters between processes that know nothing of each other, all with one tag on MPI_COMM_WORLD.
/// Nothing is collective, so that any part of the job may use it, at any time, under any name.
///
/// One for the process, because a message can be received only once: whoever looks gets all that
/// have come, and keeps those of others for them. Any thread may call it.
class PostOffice {
  public:
    [[nodiscard]] static PostOffice& of_process();

    void send(int world_rank, Letter letter);
    /// The oldest letter that is `mine`.
    [[nodiscard]] std::optional<Letter> take(const std::function<bool(const Letter&)>& mine);

    [[nodiscard]] int rank() const { return rank_; } ///< in MPI_COMM_WORLD
    [[nodiscard]] int size() const { return size_; }

  private:
    /// More are from streams that never were: the oldest go.
    static constexpr std::size_t most_waiting = 4096;

    PostOffice();

    std::mutex mutex_;
    std::deque<Letter> waiting_;
    Outgoing outgoing_;
    int rank_ = 0;
    int size_ = 1;
};

} // namespace uzushio::staging::mpi
