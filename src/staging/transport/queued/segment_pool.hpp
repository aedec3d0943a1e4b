#pragma once

#include <cstddef>
#include <memory>

#include "staging/queue/segment.hpp"

namespace uzushio::staging::queued {

/// Pool of segments, each of which is filled with a step, held for readers, and returned when its
/// last user releases it, on any thread. Members are for one thread. Segments may outlive the pool.
class SegmentPool {
  public:
    /// Keeps at most `max_segments` segments; more are made while others are still in use.
    SegmentPool(MakeSegment make, std::size_t max_segments);

    /// Set the maximum. It applies from the next `acquire` on: surplus segments are freed when they
    /// are returned.
    void set_max_segments(std::size_t max_segments) { max_segments_ = max_segments; }

    /// Return an unused segment of at least so many bytes (at least one); its old content is
    /// undefined. It returns to the pool with the last copy of the pointer. Throws the errors of
    /// MakeSegment.
    [[nodiscard]] std::shared_ptr<Segment> acquire(std::size_t bytes);

    /// Free all unused segments.
    void clear();

    /// Return the number of segments, in use and free.
    [[nodiscard]] std::size_t count() const;

  private:
    struct FreeList;
    std::shared_ptr<Segment> share(std::unique_ptr<Segment> segment);

    MakeSegment make_;
    std::size_t max_segments_;
    std::size_t standard_bytes_ =
        0; ///< size of new segments: equal, so that each is usable for any step
    std::shared_ptr<FreeList> free_list_;
};

} // namespace uzushio::staging::queued
