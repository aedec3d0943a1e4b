#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/box.hpp"
#include "staging/datamodel/run_cursor.hpp"

namespace uzushio::staging::mpi {

/// A part of a piece that travels as one message, and is packed and unpacked by one `copy`.
struct Tile {
    Box box; ///< in the piece
    std::int64_t first_component = 0;
    std::int64_t components = 1;

    template <class Byte>
    [[nodiscard]] BasicArrayView<Byte> of(const BasicArrayView<Byte>& piece) const {
        return piece.sub(box).some(first_component, components);
    }
};

/// Cuts a piece into tiles of at most so many bytes (of one scalar, if that has more). Both sides
/// cut the same way, from the piece's shape alone: no tile needs a header.
class TileCutter {
  public:
    TileCutter(const Extent& count, std::int64_t components, std::int64_t scalar_bytes, Order order,
               std::int64_t most_bytes);

    /// Into tiles of so many values and components, less at the ends.
    TileCutter(const Extent& count, std::int64_t components, const Extent& step,
               std::int64_t component_step);

    [[nodiscard]] std::optional<Tile> next();

  private:
    Extent count_;
    std::int64_t components_;
    std::int64_t component_step_; ///< components in a tile
    Extent step_;                 ///< values in a tile
    Extent at_{};
    std::int64_t component_ = 0;
};

/// A tile's values without gaps, as they travel.
template <class Byte>
[[nodiscard]] BasicArrayView<Byte> packed_tile(Byte* data, const ConstArrayView& tile,
                                               Order order) {
    const auto layout = order == Order::planar
                            ? planar(tile.count, tile.scalar_bytes)
                            : interleaved(tile.count, tile.components, tile.scalar_bytes);
    return {data, tile.count, layout, tile.components, tile.scalar_bytes};
}

/// Whether the values lie in memory as they travel.
[[nodiscard]] inline bool is_packed(const ConstArrayView& tile, Order order) {
    return RunCursor(tile, order).run_bytes() >= tile.bytes();
}

} // namespace uzushio::staging::mpi
