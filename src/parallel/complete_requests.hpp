#pragma once

#include <mpi.h>

#include <chrono>
#include <exception>
#include <memory>
#include <span>
#include <utility>

#include "parallel/backoff.hpp"
#include "parallel/simulated.hpp"
#include "parallel/wait_hook.hpp"

namespace uzushio::parallel {

using PollClock = std::chrono::steady_clock;
/// Memory that MPI accesses until a request is complete.
using RequestMemory = std::shared_ptr<void>;

/// Never release `memory`: MPI may access it until the process ends.
inline void retain_forever(RequestMemory memory) {
    (void)std::make_unique<RequestMemory>(std::move(memory)).release();
}

/// Complete requests; the thread sleeps between tests. `poll` is called at `next_poll` and then at
/// intervals. After an interruption `give_up` is called when the grace period ends. If a call
/// throws, the memory of the requests is retained.
template <class Poll, class GiveUp>
void complete_requests(std::span<MPI_Request> requests, const RequestMemory& memory,
                       PollClock::time_point& next_poll, const Poll& poll, const GiveUp& give_up) {
    // Usually all ranks are interrupted, and the rank for which the others wait ends the operation.
    constexpr std::chrono::milliseconds grace_period{400};
    if (simulated) {
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        return;
    }
    Backoff backoff;
    std::exception_ptr interruption;
    auto end = PollClock::time_point::max();
    try {
        for (;; backoff.pause()) {
            int done = 0;
            MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                        MPI_STATUSES_IGNORE);
            if (done != 0)
                return;
            const auto now = PollClock::now();
            if (now < next_poll)
                continue;
            next_poll = now + wait_hook_interval;
            poll();
            if (now >= end) {
                give_up(interruption);
                std::rethrow_exception(interruption);
            }
            try {
                run_wait_hooks();
            } catch (const Interruption&) {
                if (!interruption)
                    end = now + grace_period;
                interruption = std::current_exception();
            }
        }
    } catch (...) {
        retain_forever(memory);
        throw;
    }
}

} // namespace uzushio::parallel
