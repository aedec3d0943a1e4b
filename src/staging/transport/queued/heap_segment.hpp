#pragma once

#include <cstddef>
#include <memory>

#include "staging/queue/segment.hpp"

namespace uzushio::staging::queued {

/// Make a segment in this process's own memory, in whole pages, for engines whose readers request
/// all values. Throws StagingError if there is not enough memory.
[[nodiscard]] std::unique_ptr<Segment> make_heap_segment(std::size_t bytes);

} // namespace uzushio::staging::queued
