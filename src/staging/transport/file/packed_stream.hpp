#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/run_cursor.hpp"

namespace uzushio::staging::file {

/// The values of a view one after the other in the order of a stream, whatever its strides: long
/// runs where they are, short ones packed into a buffer that stays in the processor's cache.
class PackedStream {
  public:
    /// `buffer` is the caller's, of at least one value with all components, and is overwritten.
    PackedStream(const ConstArrayView& view, Order order, std::span<std::byte> buffer);

    /// The next bytes, at most `most` (at least 1) of them; empty at the end. Valid until the next
    /// call.
    [[nodiscard]] std::span<const std::byte> next(std::int64_t most);

  private:
    void gather(); ///< runs into the buffer
    void pack();   ///< whole rows into the buffer, where runs are too short to go one by one

    ConstArrayView view_;
    Order order_;
    std::span<std::byte> buffer_;
    RunCursor<const std::byte> runs_;
    std::span<const std::byte> ready_; ///< of the buffer, not handed out yet
    std::int64_t component_ = 0;       ///< where `pack` goes on
    Extent at_{};
};

} // namespace uzushio::staging::file
