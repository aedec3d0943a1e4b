#pragma once

#include "stencil/scheme.hpp"

namespace uzushio::stencil {

/// One exchange a block, of as many points around the tile as the block has steps; then a region
/// that shrinks to the tile, a point a step, and shares its slopes with the neighbours (Hoemmen's
/// PA1). With one step it is the plain sweep.
[[nodiscard]] Plan trapezoid(const Tiling& tiling, const BlockKind& kind);

[[nodiscard]] int most_trapezoid_steps(const Tiling& tiling, int margin);

} // namespace uzushio::stencil
