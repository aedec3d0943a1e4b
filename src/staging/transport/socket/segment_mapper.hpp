#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "staging/wire/messages.hpp"

namespace uzushio::staging::socket {

/// Interface to the shared memory of writers on the same node (engine shm).
class SegmentMapper {
  public:
    virtual ~SegmentMapper() = default;
    /// Endpoint::node of the writers whose memory this process can map; never empty.
    [[nodiscard]] virtual const std::string& node() const = 0;
    /// Return the memory of a segment, valid until `end`; nothing if it cannot be mapped. Its
    /// values are then requested over the connection. Called for non-zero places.
    [[nodiscard]] virtual std::span<const std::byte> map(const SegmentPlace& place) = 0;
    /// End the use of the mapped step; mappings may be kept for the next steps.
    virtual void end() {}
};

} // namespace uzushio::staging::socket
