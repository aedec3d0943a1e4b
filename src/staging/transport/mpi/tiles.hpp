#pragma once

#include <cstdint>
#include <optional>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/box.hpp"
#include "staging/datamodel/run_cursor.hpp"

namespace uzushio::staging::mpi {

/// Maximum bytes of a tile that is packed: the size of the writer's buffers.
inline constexpr std::uint64_t max_tile_bytes = std::uint64_t{4} << 20;
/// Maximum bytes of a message sent directly between source and destination arrays (no packing).
/// Long messages are fastest, but one must not exceed the reader's timeout.
inline constexpr std::uint64_t max_direct_bytes = std::uint64_t{256} << 20;
/// Maximum bytes of a tile that is put: a reader has memory for eight.
inline constexpr std::uint64_t max_put_bytes = std::uint64_t{2} << 20;

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
