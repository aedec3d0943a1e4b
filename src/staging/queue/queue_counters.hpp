#pragma once

#include <cstddef>
#include <cstdint>

namespace uzushio::staging {

/// Counters of a queue's steps.
struct QueueCounters {
    std::uint64_t published = 0; ///< steps that the solver offered
    std::uint64_t delivered = 0; ///< to readers, counted for each reader
    std::uint64_t dropped = 0;   ///< steps that a reader attached at that time never got
    double seconds_waited = 0;   ///< of the solver, in `publish`
    std::size_t peak_bytes = 0;  ///< maximum in the queue
    std::size_t bytes = 0;       ///< in the queue now
    std::size_t steps = 0;       ///< in the queue now

    bool operator==(const QueueCounters&) const = default;
};

} // namespace uzushio::staging
