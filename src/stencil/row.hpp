#pragma once

#include <cstddef>

namespace uzushio::stencil {

/// A piece of a row that a kernel updates: `out[x]` for x in [x_begin, x_end) of the next step,
/// from `here[x - 1]`, `here[x]`, `here[x + 1]`, `below[x]` (row y - 1) and `above[x]` (row y + 1).
///
/// Indices are global and unwrapped (see `Rect`). Beyond an edge without flux the values are the
/// edge's own: `here[-1] == here[0]`, and `below` is `here` in row 0. `out` is other memory than
/// what is read. All pointers are valid during the call only.
///
/// Redundant points are updated on several ranks; [own_begin, own_end) is the part whose side
/// effects count (sums, observations, trajectory). Over all ranks, each point of the domain is in
/// it exactly once a step. It may be empty.
struct Row {
    int y = 0;
    int x_begin = 0;
    int x_end = 0;
    const double* below = nullptr;
    const double* here = nullptr;
    const double* above = nullptr;
    double* out = nullptr;
    int own_begin = 0;
    int own_end = 0;
    int thread = 0; ///< rows with different numbers may be updated at the same time
};

/// Pieces of rows one above the other, which do not depend on each other: `first`, and those whose
/// values lie `stride` further on each.
struct Rows {
    Row first;
    int count = 1;
    std::ptrdiff_t stride = 0;

    /// Call `visit(row)` for each.
    template <class Visit> void each(Visit&& visit) const {
        Row row = first;
        for (int i = 0; i < count; ++i) {
            visit(static_cast<const Row&>(row));
            ++row.y;
            row.below += stride;
            row.here += stride;
            row.above += stride;
            row.out += stride;
        }
    }
};

} // namespace uzushio::stencil
