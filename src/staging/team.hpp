#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parallel/communicator.hpp"

namespace uzushio::staging {

/// The ranks that open one side of a stream together; or this process alone, which then needs no
/// MPI. All members but the first three are collective, and wait asleep: a rank that waits for
/// readers must not take the core of one that computes.
class Team {
  public:
    Team() = default; ///< this process alone
    /// Duplicates `comm`; MPI_COMM_NULL: this process alone.
    explicit Team(MPI_Comm comm);

    [[nodiscard]] int rank() const { return comm_ ? comm_->rank() : 0; }
    [[nodiscard]] int size() const { return comm_ ? comm_->size() : 1; }
    /// MPI_COMM_NULL if alone.
    [[nodiscard]] MPI_Comm comm() const { return comm_ ? comm_->get() : MPI_COMM_NULL; }

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
    /// The same for what was thrown, null if nothing was. PeerGone, PeerSilent and QueueTimeout
    /// stay what they are on all ranks; anything else becomes a StagingError.
    void agree(const std::exception_ptr& error) const;
    /// Do something that may throw on some ranks, so that all throw (as `agree`) or none does.
    template <class Work> void together(Work&& work) const {
        std::exception_ptr error;
        try {
            work();
        } catch (...) {
            error = std::current_exception();
        }
        agree(error);
    }

  private:
    std::optional<parallel::Communicator> comm_;
};

} // namespace uzushio::staging
