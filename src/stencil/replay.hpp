#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel/aligned_array.hpp"
#include "stencil/row.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// Model of a `Replay`: source of a block's first state and last adjoint, destination of its first
/// adjoint, and a step of each. Called by several threads concurrently, with different rows of the
/// result.
class ReplayedModel {
  public:
    virtual ~ReplayedModel() = default;

    /// Copy columns [begin, end) of row y of the state of step `first`; [x] of `to` is column x.
    virtual void state(int y, int begin, int end, double* to) = 0;
    /// Copy the same columns of the adjoint of step `last`.
    virtual void adjoint(int y, int begin, int end, double* to) = 0;
    /// Return row y of the adjoint of step `stop` for writing; [x] is column x.
    virtual double* result(int y) = 0;

    /// Step the state from `step` to step + 1. No point of the row is own.
    virtual void forward(int step, const StencilRow& row) = 0;
    /// Step the adjoint from step + 1 to `step`; `state` is the state of that row at `step`.
    virtual void backward(int step, const StencilRow& row, const double* state) = 0;
};

/// Adjoint of a block of steps of which only the first state is stored: the other states are
/// recomputed row by row and used while they are in the cache. This costs a second forward step per
/// step, and avoids writing and reading a trajectory in memory.
///
/// Along the rows of a tile, each forward step lags one row behind the previous one, and the
/// adjoint steps, from the last one down, follow: a state stays in the cache for two rows per step
/// between it and the end of the block. Tiles are columns of the rank's part, narrow enough for
/// that; points that two tiles need are computed twice.
class Replay {
  public:
    /// Maximum steps of a block: its rows, which must fit the cache, grow with their square.
    static constexpr int max_steps = 64;

    /// `steps`: of the longest block. `cache`: bytes of the L2 cache for the rows of a thread.
    /// `tiling` must outlive the replay.
    Replay(const Tiling& tiling, int steps, int threads, std::size_t cache);

    /// Halo width of the first state of a block of `steps` steps; that of the last adjoint and of
    /// the model's own inputs is `steps`.
    [[nodiscard]] static int state_halo(int steps) { return 2 * (steps - 1); }

    /// Step the adjoint back from `last` to `stop`; the stored state is that of `first` <= `stop`.
    void run(ReplayedModel& model, int first, int stop, int last);

    /// Forward and backward updates of points so far, and the redundant ones among them: points
    /// beyond the rank's tile, or computed twice within the rank.
    [[nodiscard]] std::int64_t points() const { return points_; }
    [[nodiscard]] std::int64_t redundant() const { return redundant_; }
    [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

  private:
    const Tiling& tiling_;
    int steps_;
    int threads_;
    int columns_; ///< maximum of a tile
    std::ptrdiff_t pitch_;
    std::size_t values_; ///< of one thread
    parallel::AlignedArray<double> memory_;
    std::int64_t points_ = 0;
    std::int64_t redundant_ = 0;
};

} // namespace uzushio::stencil
