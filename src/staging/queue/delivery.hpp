#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace uzushio::staging {

/// How a reader's wait for a step ended.
enum class Arrival : std::uint8_t {
    step,     ///< there is one
    timeout,  ///< none came in time
    ended,    ///< the writer has closed the queue, and the reader has had all
    detached, ///< the reader was detached meanwhile
};

/// A step in a reader's hands until it releases it.
struct Delivery {
    Arrival arrival = Arrival::timeout;
    std::uint64_t sequence = 0; ///< counts the steps accepted by the queue, from 0
    std::size_t bytes = 0;
    std::shared_ptr<void> payload; ///< a copy kept after release keeps the memory too

    [[nodiscard]] explicit operator bool() const { return arrival == Arrival::step; }
};

} // namespace uzushio::staging
