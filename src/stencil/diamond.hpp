#pragma once

#include "stencil/scheme.hpp"

namespace uzushio::stencil {

/// No point is computed twice. What each tile can compute alone shrinks; what is left out over the
/// borders grows, and belongs to one of the neighbours, so that a block moves all tiles by as many
/// points as it has steps: left and down, and the next one back again (after Suda's diamonds).
///
/// Going backward, tiles take the same way back: block `kind` goes down from the level that the
/// forward block ended with to level `kind.to_level`, on the points of the forward levels. Its
/// first level is computed by an `entry`, one plain step, which a backward sweep begins with.
[[nodiscard]] Plan diamond(const Tiling& tiling, const BlockKind& kind);

[[nodiscard]] int most_diamond_steps(const Tiling& tiling, int margin);

} // namespace uzushio::stencil
