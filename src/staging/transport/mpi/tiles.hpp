#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/box.hpp"
#include "staging/datamodel/run_cursor.hpp"

namespace uzushio::staging::mpi {

/// Part of a piece that is sent as one message, and packed and unpacked by one `copy`.
struct Tile {
    Box box; ///< in the piece
    std::int64_t first_component = 0;
    std::int64_t components = 1;

    template <class Byte>
    [[nodiscard]] BasicArrayView<Byte> of(const BasicArrayView<Byte>& piece) const {
        return piece.sub(box).select_components(first_component, components);
    }
};

/// Cutter of a piece into tiles of at most so many bytes (at least one scalar). Both sides cut
/// alike, from the piece's shape only: tiles need no headers.
class TileCutter {
  public:
    TileCutter(const Extent& count, std::int64_t components, std::int64_t scalar_bytes,
               ComponentOrder order, std::int64_t max_bytes);

    /// Cut into tiles of so many values and components, fewer at the ends.
    TileCutter(const Extent& count, std::int64_t components, const Extent& step,
               std::int64_t component_step);

    [[nodiscard]] std::optional<Tile> next();

  private:
    Extent count_;
    std::int64_t components_;
    std::int64_t component_step_; ///< components of a tile
    Extent step_;                 ///< values of a tile
    Extent at_{};
    std::int64_t component_ = 0;
};

/// Return the view of a tile in the packed form of a message.
template <class Byte>
[[nodiscard]] BasicArrayView<Byte> packed_tile(Byte* data, const ConstArrayView& tile,
                                               ComponentOrder order) {
    const auto layout = order == ComponentOrder::planar
                            ? planar(tile.count, tile.scalar_bytes)
                            : interleaved(tile.count, tile.components, tile.scalar_bytes);
    return {data, tile.count, layout, tile.components, tile.scalar_bytes};
}

/// Return whether the values are in memory as in a message.
[[nodiscard]] inline bool is_packed(const ConstArrayView& tile, ComponentOrder order) {
    return RunCursor(tile, order).run_bytes() >= tile.bytes();
}

} // namespace uzushio::staging::mpi
