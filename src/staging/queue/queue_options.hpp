#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace uzushio::staging {

/// What to do with a new step when the queue is full.
enum class QueuePolicy : std::uint8_t {
    block,       ///< wait for the readers, up to a time limit
    drop_newest, ///< refuse the new step, unless it is a stalled reader that is in its way
    drop_oldest, ///< give up the oldest steps that no reader has in its hands
    latest_only, ///< a reader never gets a step when there is a newer one; refuses for `bytes`
                 ///< alone
};

/// What follows when `block` has waited in vain.
enum class OnTimeout : std::uint8_t {
    drop, ///< refuse the new step, count it, and wait no more for readers that do not move
    fail, ///< throw QueueTimeout
};

struct QueueOptions {
    /// Steps kept at most, those in readers' hands included; at least 1. With `latest_only` it
    /// grows to one more than there are readers that hold a step, so that the newest has a place
    /// whatever they hold (a reader that holds several needs a depth that counts them).
    std::size_t depth = 2;
    /// Of these steps together, on the rank that has most. Outside it: the one segment that
    /// `buffer` hands out meanwhile, and what segments are larger than their steps, an eighth at
    /// most once steps have grown.
    std::size_t bytes = std::numeric_limits<std::size_t>::max();
    QueuePolicy policy = QueuePolicy::latest_only;
    /// Of `block`, for the solver to wait. A reader that keeps new steps out for longer than that
    /// has stalled, with `block` and `drop_newest`. While others move, what it alone waits for is
    /// given up for them; when all readers have stalled, new steps are refused without a wait.
    std::chrono::nanoseconds time_limit = std::chrono::seconds(10);
    OnTimeout on_timeout = OnTimeout::drop;
    /// Keep the newest step until the next one comes even if all readers are done with it, or there
    /// is none: whoever attaches has something to see at once.
    bool keep_newest = true;
};

} // namespace uzushio::staging
