#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace uzushio::staging {

/// Treatment of a new step when the queue is full.
enum class QueuePolicy : std::uint8_t {
    block,       ///< wait for the readers, up to a time limit
    drop_newest, ///< refuse the new step, unless only stalled readers hold its place
    drop_oldest, ///< drop the oldest steps that no reader holds
    latest_only, ///< a reader never gets a step when there is a newer one; refuses for `bytes`
                 ///< alone
};

/// Reaction of `block` to a timeout.
enum class OnTimeout : std::uint8_t {
    drop, ///< refuse the new step, count it, and wait no more for stalled readers
    fail, ///< throw QueueTimeout
};

struct QueueOptions {
    /// Maximum number of steps, including those that readers hold; at least 1. With `latest_only`
    /// it grows to one more than the number of readers that hold a step, so that the newest step
    /// always has a place (a reader that holds several steps needs a larger depth).
    std::size_t depth = 2;
    /// Maximum bytes of these steps on the rank with the most. Not included: the one segment that
    /// `buffer` allocates, and the excess size of segments, at most an eighth after steps have
    /// grown.
    std::size_t bytes = std::numeric_limits<std::size_t>::max();
    QueuePolicy policy = QueuePolicy::latest_only;
    /// Maximum wait of the solver with `block`. A reader that prevents new steps for longer has
    /// stalled (`block` and `drop_newest`). While other readers are active, steps that only stalled
    /// readers need are dropped; when all have stalled, new steps are refused without a wait.
    std::chrono::nanoseconds time_limit = std::chrono::seconds(10);
    OnTimeout on_timeout = OnTimeout::drop;
    /// Keep the newest step until the next one, even without readers that need it: a new reader
    /// gets a step at once.
    bool keep_newest = true;
};

} // namespace uzushio::staging
