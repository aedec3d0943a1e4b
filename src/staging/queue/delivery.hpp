#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace uzushio::staging {

/// Result of a reader's wait for a step.
enum class StepStatus : std::uint8_t {
    step,     ///< a step is available
    timeout,  ///< no step within the limit
    ended,    ///< the writer has closed the stream, and all steps were delivered
    detached, ///< the reader has detached
};

/// Step that was delivered to a reader, which must release it.
struct Delivery {
    StepStatus status = StepStatus::timeout;
    std::uint64_t sequence = 0; ///< counts the steps accepted by the queue, from 0
    std::size_t bytes = 0;
    std::shared_ptr<void> payload; ///< shared: a copy keeps the memory after the release

    [[nodiscard]] explicit operator bool() const { return status == StepStatus::step; }
};

} // namespace uzushio::staging
