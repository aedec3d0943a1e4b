#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// Memory for one rank's part of a step, made once and used for many steps: fresh pages cost ten
/// times a copy. What readers can reach of it is the engine's matter.
class Segment {
  public:
    virtual ~Segment() = default;
    [[nodiscard]] virtual std::span<std::byte> bytes() = 0;
    /// How a reader reaches it without asking the rank; zeros if it cannot.
    [[nodiscard]] virtual SegmentPlace place() const { return {}; }
    /// It is about to be filled with another step: whoever still looks at the one before, though it
    /// is theirs no more, must be able to tell. Changes what `place` says.
    virtual void renew() {}
};

/// Makes a segment of at least so many bytes, aligned to 64; throws StagingError if it cannot.
using MakeSegment = std::function<std::unique_ptr<Segment>(std::size_t bytes)>;

} // namespace uzushio::staging
