#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// Memory for one rank's part of a step, reused for many steps: fresh pages cost ten times a copy.
class Segment {
  public:
    virtual ~Segment() = default;
    [[nodiscard]] virtual std::span<std::byte> bytes() = 0;
    /// Place for direct access by readers; zeros if there is none.
    [[nodiscard]] virtual SegmentPlace place() const { return {}; }
    /// Mark the segment as reused for another step, so that a late reader of the earlier step
    /// detects it. Changes `place`.
    virtual void renew() {}
};

/// Function that allocates a segment of at least `bytes` bytes, aligned to 64, or throws
/// StagingError.
using MakeSegment = std::function<std::unique_ptr<Segment>(std::size_t bytes)>;

} // namespace uzushio::staging
