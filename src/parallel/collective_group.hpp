#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "parallel/error_types.hpp"
#include "parallel/wait_hook.hpp"

namespace uzushio::parallel {

/// Fault-aware communicator: ranks agree on errors, and a rank that aborts ends the waits of the
/// others. A group may be this process alone, and then needs no MPI. Members are collective unless
/// stated otherwise. Collective waits sleep: they leave the core to ranks that compute.
///
/// A rank aborts by `abort`, or because an interrupted wait (WaitHook that throws an Interruption)
/// has not completed within a grace period. On the other ranks each collective member, now or
/// later, throws an error with the rank and its reason. The communicator, and memory that MPI may
/// still access, are then kept until the process ends.
class CollectiveGroup {
  public:
    CollectiveGroup(); ///< this process alone; errors are std::runtime_error
    /// Duplicates `comm`; MPI_COMM_NULL: this process alone. Messages contain `name`, such as
    /// "this reader". Errors of the types `errors` keep their type on all ranks.
    explicit CollectiveGroup(MPI_Comm comm, std::string name = "this group",
                             ErrorTypes errors = {});
    CollectiveGroup(CollectiveGroup&&) noexcept;
    CollectiveGroup& operator=(CollectiveGroup&&) noexcept;
    ~CollectiveGroup();

    // Not collective.
    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;
    /// MPI_COMM_NULL if alone. Other messages on it have tags from `first_free_tag` on: the group
    /// receives those with smaller tags from any rank.
    [[nodiscard]] MPI_Comm comm() const;
    static constexpr int first_free_tag = 3;

    void barrier() const;
    [[nodiscard]] std::uint64_t max(std::uint64_t value) const;
    /// Replace each element by its maximum over the ranks, in one reduction.
    void max(std::span<std::uint64_t> values) const;
    [[nodiscard]] bool any(bool value) const { return max(value ? 1 : 0) != 0; }
    /// Return the sum over the ranks below this one.
    [[nodiscard]] std::uint64_t sum_before(std::uint64_t value) const;
    /// Return rank 0's bytes on all ranks.
    [[nodiscard]] std::vector<std::byte> broadcast(std::vector<std::byte> bytes) const;
    /// Return all ranks' bytes in order of rank on rank 0; an empty vector elsewhere.
    [[nodiscard]] std::vector<std::vector<std::byte>>
    gather(std::span<const std::byte> bytes) const;

    /// Throw on all ranks if any rank has an error: an error with the text of the lowest such
    /// rank. Costs one reduction if there is none.
    void agree(const std::optional<std::string>& error) const;
    /// The same for an exception, or null. Its type is kept if the group's ErrorTypes list it.
    void agree(const std::exception_ptr& error) const;
    /// Run `work` on all ranks; if it throws on any, all throw (as `agree`). Long waits in `work`
    /// end when another rank aborts.
    template <class Work> void run_collectively(Work&& work) const {
        std::exception_ptr error;
        try {
            const WaitHook watching = watch_abort();
            work();
        } catch (...) {
            error = std::current_exception();
        }
        agree(error);
    }
    /// Run `work` on rank 0; if it throws, all ranks throw.
    template <class Work> void run_on_root(Work&& work) const {
        run_collectively([&] {
            if (rank() == 0)
                work();
        });
    }
    /// Return on all ranks the text or bytes that `work` returns on rank 0; if it throws, all ranks
    /// throw.
    template <class Work> [[nodiscard]] std::invoke_result_t<Work> from_root(Work&& work) const {
        std::invoke_result_t<Work> result{};
        run_on_root([&] { result = work(); });
        const auto own = std::as_bytes(std::span(result));
        const auto bytes = broadcast({own.begin(), own.end()});
        if constexpr (requires { result.resize(bytes.size()); })
            result.resize(bytes.size());
        std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(result)).begin());
        return result;
    }

    // Not collective; these do not block.

    /// Notify the other ranks that this rank calls no more collective members: they throw `why`.
    /// Does nothing if this rank or another one has aborted already.
    void abort(const std::exception_ptr& why) const noexcept;
    /// Throw the exception of another rank that has aborted, as collective members do.
    void poll_abort() const;
    /// Hook that calls `poll_abort`, for work of one rank for which the others wait.
    [[nodiscard]] WaitHook watch_abort() const;

  private:
    struct State;
    [[nodiscard]] bool alone() const { return size() == 1; }

    ErrorTypes errors_;
    std::unique_ptr<State> state_; ///< null: this process alone
};

} // namespace uzushio::parallel
