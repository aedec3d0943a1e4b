#pragma once

#include <cstddef>

namespace uzushio::stencil {

/// Piece of a row that a kernel updates: `out[x]` for x in [x_begin, x_end) of the next step,
/// from `here[x - 1]`, `here[x]`, `here[x + 1]`, `below[x]` (row y - 1) and `above[x]` (row y + 1).
///
/// Indices are global and unwrapped (see `Rect`). Beyond a zero-flux edge the values of the edge
/// are repeated: `here[-1] == here[0]`, and `below` is `here` in row 0. `out` does not overlap the
/// input rows. All pointers are valid during the call only.
///
/// Redundant points are updated on several ranks; only [own_begin, own_end), which may be empty,
/// contributes to sums, observations and trajectories. Over all ranks, it contains each point of
/// the domain exactly once per step.
struct StencilRow {
    int y = 0;
    int x_begin = 0;
    int x_end = 0;
    const double* below = nullptr;
    const double* here = nullptr;
    const double* above = nullptr;
    double* out = nullptr;
    int own_begin = 0;
    int own_end = 0;
    int thread = 0; ///< rows with different numbers may be updated concurrently
};

/// Independent pieces of consecutive rows: `first`, and `count` - 1 rows above it, each `stride`
/// values further in memory.
struct RowGroup {
    StencilRow first;
    int count = 1;
    std::ptrdiff_t stride = 0;

    /// Call `visit(row)` for each row.
    template <class Visit> void each(Visit&& visit) const {
        StencilRow row = first;
        for (int i = 0; i < count; ++i) {
            visit(static_cast<const StencilRow&>(row));
            ++row.y;
            row.below += stride;
            row.here += stride;
            row.above += stride;
            row.out += stride;
        }
    }
};

} // namespace uzushio::stencil
