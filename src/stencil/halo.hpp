#pragma once

#include "stencil/plan.hpp"
#include "stencil/shape.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// The exchange that fills `width` points of level 0 around `tile`, which is this rank's, or has
/// moved as those of all ranks have: two messages along x, then two along y, with which the corners
/// travel. Without `corners` all four go at once.
[[nodiscard]] Exchange halo(const Tiling& tiling, const Shape& tile, int width, bool corners);

} // namespace uzushio::stencil
