#pragma once

#include "stencil/plan.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// The exchange after which all tiles have moved left and down by `to` points, where they had moved
/// by `from`.
[[nodiscard]] Exchange relocate(const Tiling& tiling, int from, int to);

} // namespace uzushio::stencil
