#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace uzushio::compositing {

/// Timeline semaphore: a number in memory shared by the processes of a node that only grows, and
/// on which processes sleep (Linux: futex). Elsewhere, and under a simulator of MPI, where sleeping
/// would stop all ranks, a waiting rank calls MPI instead.
class TimelineSemaphore {
  public:
    [[nodiscard]] bool reached(std::uint32_t number) const {
        return static_cast<std::int32_t>(value_.load(std::memory_order_acquire) - number) >= 0;
    }
    /// Set the number, unless it is greater already, and wake all waiting processes.
    void signal(std::uint32_t number);
    /// Poll for at most `time`, yielding the processor; return whether the number is reached. For
    /// waits that are shorter than a wake-up.
    [[nodiscard]] bool spin(std::uint32_t number, std::chrono::microseconds time) const;
    /// Sleep for at most `timeout`; return whether the number is reached.
    bool wait(std::uint32_t number, std::chrono::microseconds timeout, MPI_Comm comm);

  private:
    bool set(std::uint32_t number);

    std::atomic<std::uint32_t> value_;
    static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
};

} // namespace uzushio::compositing
