#pragma once

#include <cstdint>
#include <optional>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/box.hpp"
#include "staging/datamodel/run_cursor.hpp"

namespace uzushio::staging {

/// Part of an array that is packed and unpacked by one `copy`, such as a message or a file's part.
struct Tile {
    Box box; ///< in the array
    std::int64_t first_component = 0;
    std::int64_t components = 1;

    template <class Byte>
    [[nodiscard]] BasicArrayView<Byte> of(const BasicArrayView<Byte>& array) const {
        return array.sub(box).select_components(first_component, components);
    }
};

/// Cutter of an array into tiles of at most so many bytes (at least one scalar). Sender and
/// receiver cut alike, from the array's shape only: tiles need no headers. The values of all tiles
/// are in stream order if a tile can hold a value with all its components.
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

/// Return the view of a tile that is packed at `data`, in stream order without gaps.
template <class Byte>
[[nodiscard]] BasicArrayView<Byte> packed_tile(Byte* data, const ConstArrayView& tile,
                                               ComponentOrder order) {
    const ArrayLayout layout = stream_layout(tile.count, tile.components, tile.scalar_bytes, order);
    return {data, tile.count, layout, tile.components, tile.scalar_bytes};
}

/// Return whether the values are in memory in stream order without gaps.
[[nodiscard]] inline bool is_packed(const ConstArrayView& tile, ComponentOrder order) {
    return RunCursor(tile, order).run_bytes() >= tile.bytes();
}

} // namespace uzushio::staging
