#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "staging/interrupt.hpp"

namespace uzushio::staging {

/// The ranks that open one side of a stream together; or this process alone, which then needs no
/// MPI. Members are collective unless they say otherwise, and wait asleep: a rank that waits for
/// readers must not take the core of one that computes.
///
/// A rank may leave the others: by `leave`, or because a wait was interrupted (`InterruptScope`)
/// and not over a moment later. Who waits for it, now or later, throws StagingError that says who
/// left and why; so does any other collective member from then on. The communicator, and memory
/// that MPI may still write to, then live as long as the process, since nothing can take them back.
class Team {
  public:
    Team(); ///< this process alone
    /// Duplicates `comm`; MPI_COMM_NULL: this process alone. `name` is for messages: "this reader".
    explicit Team(MPI_Comm comm, std::string name = "this stream");
    Team(Team&&) noexcept;
    Team& operator=(Team&&) noexcept;
    ~Team();

    // Not collective.
    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;
    /// MPI_COMM_NULL if alone.
    [[nodiscard]] MPI_Comm comm() const;

    void barrier() const;
    [[nodiscard]] std::uint64_t max(std::uint64_t value) const;
    /// The largest of each, in place: several questions for the price of one.
    void max(std::span<std::uint64_t> values) const;
    [[nodiscard]] bool any(bool value) const { return max(value ? 1 : 0) != 0; }
    /// Sum over the ranks before this one.
    [[nodiscard]] std::uint64_t sum_before(std::uint64_t value) const;
    /// Rank 0's bytes, on all.
    [[nodiscard]] std::vector<std::byte> broadcast(std::vector<std::byte> bytes) const;
    /// All ranks' bytes in order of rank, on rank 0; nothing elsewhere.
    [[nodiscard]] std::vector<std::vector<std::byte>>
    gather(std::span<const std::byte> bytes) const;

    /// What went wrong on this rank, if anything: if on any, all throw StagingError with the text
    /// of the first one. One collective where all is well.
    void agree(const std::optional<std::string>& error) const;
    /// The same for what was thrown, null if nothing was. PeerGone, PeerSilent, QueueTimeout and
    /// WaitStopped stay what they are on all ranks; anything else becomes a StagingError.
    void agree(const std::exception_ptr& error) const;
    /// Do something that may throw on some ranks, so that all throw (as `agree`) or none does.
    /// Long waits in it end when another rank leaves.
    template <class Work> void together(Work&& work) const {
        std::exception_ptr error;
        try {
            const WaitScope watching = watch();
            work();
        } catch (...) {
            error = std::current_exception();
        }
        agree(error);
    }

    // Not collective, and without waiting for anybody.

    /// Tell the others that this rank takes part in nothing any more, and why: they throw an error
    /// of that kind. Nothing if it has left already, or another one has.
    void leave(const std::exception_ptr& why) const noexcept;
    /// Throws what collective members throw, if another rank has left.
    void throw_if_left() const;
    /// As long as it lives, long waits of this thread call `throw_if_left`: for what one rank does
    /// while the others wait for it.
    [[nodiscard]] WaitScope watch() const;

  private:
    struct State;
    [[nodiscard]] bool alone() const { return size() == 1; }

    std::unique_ptr<State> state_; ///< null: this process alone
};

} // namespace uzushio::staging
