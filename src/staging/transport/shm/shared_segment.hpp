#pragma once

#include <cstddef>
#include <memory>

#include "staging/queue/segment.hpp"

namespace uzushio::staging::shm {

/// Memory without a name that other processes of this user on this node may map, read-only, at its
/// `place`. All its pages are there from the start; it never shrinks, so that a reader of it never
/// gets SIGBUS, and it lives until the last one that has it mapped lets go, whatever becomes of the
/// writer. Throws StagingError if there is not so much memory.
[[nodiscard]] std::unique_ptr<Segment> make_shared_segment(std::size_t bytes);

} // namespace uzushio::staging::shm
