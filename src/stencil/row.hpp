#pragma once

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

} // namespace uzushio::stencil
