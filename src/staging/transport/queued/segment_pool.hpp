#pragma once

#include <cstddef>
#include <memory>

#include "staging/queue/segment.hpp"

namespace uzushio::staging::queued {

/// Segments that go round: filled with a step, held for readers, and filled again once the last
/// user has let go, whatever thread that is on. Members are for one thread; segments outlive the
/// pool safely.
class SegmentPool {
  public:
    /// Keeps at most `most` segments; more are made while others are still in use.
    SegmentPool(MakeSegment make, std::size_t most);

    /// From the next `take` on. More are freed as they come back, fewer made only when none is
    /// free.
    void keep_at_most(std::size_t most) { most_ = most; }

    /// A segment of at least so many bytes (at least one) that nobody else uses; what was in it is
    /// void. It comes back to the pool with the last copy of the pointer. Throws what MakeSegment
    /// throws.
    [[nodiscard]] std::shared_ptr<Segment> take(std::size_t bytes);

    /// Free what nobody uses.
    void clear();

    /// Segments in use and free.
    [[nodiscard]] std::size_t alive() const;

  private:
    struct Shelf;
    std::shared_ptr<Segment> hand_out(std::unique_ptr<Segment> segment);

    MakeSegment make_;
    std::size_t most_;
    std::size_t usual_ = 0; ///< bytes of new segments: all alike, so that any does for any step
    std::shared_ptr<Shelf> shelf_;
};

} // namespace uzushio::staging::queued
