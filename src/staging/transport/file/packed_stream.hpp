#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/run_cursor.hpp"
#include "staging/datamodel/tile_cutter.hpp"

namespace uzushio::staging::file {

/// Values of a view as a stream of bytes, independent of its strides. Long runs are returned in
/// place, short ones packed into a buffer that stays in the processor's cache.
class PackedStream {
  public:
    /// `buffer` is the caller's, of at least one value with all components, and is overwritten.
    PackedStream(const ConstArrayView& view, ComponentOrder order, std::span<std::byte> buffer);

    /// Return the next bytes, at most `max_bytes` (at least 1); empty at the end. Valid until the
    /// next call.
    [[nodiscard]] std::span<const std::byte> next(std::int64_t max_bytes);

  private:
    void pack_runs(); ///< into the buffer
    void pack_tile(); ///< into the buffer, where runs are too short

    ConstArrayView view_;
    ComponentOrder order_;
    std::span<std::byte> buffer_;
    RunCursor<const std::byte> runs_;
    std::span<const std::byte> ready_; ///< part of the buffer that was not returned yet
    TileCutter tiles_;                 ///< of the values that `pack_tile` packs
};

} // namespace uzushio::staging::file
