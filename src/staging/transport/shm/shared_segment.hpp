#pragma once

#include <cstddef>
#include <memory>

#include "staging/queue/segment.hpp"

namespace uzushio::staging::shm {

/// Make anonymous shared memory that other processes of this user on this node may map read-only at
/// its `place`. All pages are allocated at the start, and the file never shrinks, so that readers
/// never get SIGBUS. It exists until its last mapping is released, also after the writer's end.
/// Throws StagingError if there is not enough memory.
[[nodiscard]] std::unique_ptr<Segment> make_shared_segment(std::size_t bytes);

} // namespace uzushio::staging::shm
