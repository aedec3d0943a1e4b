#pragma once

#include <cstddef>
#include <memory>

#include "staging/queue/segment.hpp"

namespace uzushio::staging::queued {

/// Memory of this process alone, in whole pages: for engines whose readers ask for all they want.
/// Throws StagingError if there is not so much.
[[nodiscard]] std::unique_ptr<Segment> make_heap_segment(std::size_t bytes);

} // namespace uzushio::staging::queued
