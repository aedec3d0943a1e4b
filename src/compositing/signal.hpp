#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace uzushio::compositing {

/// A number in memory that processes of one node share; it only grows, and who waits for it sleeps.
/// Where the system offers no sleep on shared memory, and under a simulator of MPI, where sleeping
/// would stop everybody, a waiting rank lets MPI run instead.
class Signal {
  public:
    [[nodiscard]] bool reached(std::uint32_t number) const {
        return static_cast<std::int32_t>(value_.load(std::memory_order_acquire) - number) >= 0;
    }
    /// Set the number, unless a greater one is there, and wake all waiting processes.
    void raise(std::uint32_t number);
    /// Look at it again and again for so long, letting others run; tell whether the number is
    /// reached. For what comes sooner than a sleeping rank wakes up.
    [[nodiscard]] bool look(std::uint32_t number, std::chrono::microseconds time) const;
    /// Wait for at most `limit`; tell whether the number is reached.
    bool wait(std::uint32_t number, std::chrono::microseconds limit, MPI_Comm comm);

  private:
    bool set(std::uint32_t number);

    std::atomic<std::uint32_t> value_;
    static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
};

} // namespace uzushio::compositing
