#pragma once

#include <vector>

#include "stencil/sweep_plan.hpp"
#include "stencil/tile_shape.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// Add a message to the tile `dx` to the right and `dy` above, if that tile exists and `rects` is
/// not empty.
void add_send(ExchangeStage& stage, const Tiling& tiling, int dx, int dy,
              std::vector<BufferRect> rects);

/// Add the matching receive from that tile, which sends in the opposite direction.
void add_receive(ExchangeStage& stage, const Tiling& tiling, int dx, int dy,
                 std::vector<BufferRect> rects);

/// Add both.
void add_both(ExchangeStage& stage, const Tiling& tiling, int dx, int dy,
              std::vector<BufferRect> out, std::vector<BufferRect> in);

/// Return an exchange of the stages that have messages.
[[nodiscard]] ExchangePlan non_empty(ExchangeStage first, ExchangeStage second = {});

/// Exchange that fills `width` points of level 0 around `tile`, which is this rank's, shifted or
/// not: two messages along x, then two along y, which carry the corners. Without `corners` all
/// four messages are sent at once.
[[nodiscard]] ExchangePlan halo_exchange(const Tiling& tiling, const TileShape& tile, int width,
                                         bool corners);

/// Exchange that moves the values of all tiles from shift `from` to shift `to` (points to the left
/// and down).
[[nodiscard]] ExchangePlan relocation_exchange(const Tiling& tiling, int from, int to);

} // namespace uzushio::stencil
