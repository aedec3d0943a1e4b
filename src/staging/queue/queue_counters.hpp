#pragma once

#include <cstddef>
#include <cstdint>

namespace uzushio::staging {

/// What happened to the steps of a queue so far.
struct QueueCounters {
    std::uint64_t published = 0; ///< steps that the solver offered
    std::uint64_t delivered = 0; ///< handed to a reader, counted for each reader
    std::uint64_t dropped = 0;   ///< steps that a reader attached at that time never got
    double seconds_waited = 0;   ///< of the solver, in `publish`
    std::size_t peak_bytes = 0;  ///< most that the queue held at a time
    std::size_t bytes = 0;       ///< that it holds now
    std::size_t steps = 0;       ///< that it holds now

    bool operator==(const QueueCounters&) const = default;
};

} // namespace uzushio::staging
