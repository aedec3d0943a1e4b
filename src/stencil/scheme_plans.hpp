#pragma once

#include "stencil/blocking_scheme.hpp"

/// Plans of one block for each scheme of time blocking.
namespace uzushio::stencil {

/// PA1 (Hoemmen): one exchange of a halo as wide as the block has steps, then a region that shrinks
/// to the tile by one point per step; neighbours compute its slopes too. With one step it is the
/// plain sweep.
[[nodiscard]] SweepPlan trapezoid(const Tiling& tiling, const BlockKind& kind);
[[nodiscard]] int max_trapezoid_steps(const Tiling& tiling, int margin);

/// PA2 (Hoemmen): each tile first computes all points that are independent of its neighbours, then
/// exchanges the slopes and computes the rest: about half the redundant points of PA1. Its maximum
/// steps are those of PA1.
[[nodiscard]] SweepPlan pa2(const Tiling& tiling, const BlockKind& kind);

/// Diamonds (after Suda): no redundant points. The independent region of a tile shrinks; the seam
/// over each border grows and is assigned to one of the neighbours, so that a block shifts all
/// tiles left and down by as many points as it has steps, and the next block shifts them back.
///
/// Backward, tiles follow the same path: a block goes down from the level at which the forward
/// block ended to level `kind.to_level`, over the points of the forward levels. Its first level is
/// computed by an `entry`, one plain step at the beginning of a backward sweep.
[[nodiscard]] SweepPlan diamond(const Tiling& tiling, const BlockKind& kind);
[[nodiscard]] int max_diamond_steps(const Tiling& tiling, int margin);

} // namespace uzushio::stencil
