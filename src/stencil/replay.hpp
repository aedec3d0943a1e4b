#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel/aligned_array.hpp"
#include "stencil/row.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// What a model gives to a `Replay`: where a block's first state and last adjoint come from, where
/// its first adjoint goes, and a step of each. Called by several threads at once, which never ask
/// for the same row of the result.
class ReplayedModel {
  public:
    virtual ~ReplayedModel() = default;

    /// Copy columns [begin, end) of row y of the state of step `first`; [x] of `to` is column x.
    virtual void state(int y, int begin, int end, double* to) = 0;
    /// The same of the adjoint of step `last`.
    virtual void adjoint(int y, int begin, int end, double* to) = 0;
    /// Row y of the adjoint of step `stop`, as a place to write; [x] of it is column x.
    virtual double* result(int y) = 0;

    /// Step the state from `step` to step + 1. Nothing of the row is own.
    virtual void forward(int step, const Row& row) = 0;
    /// Step the adjoint from step + 1 to `step`, at which `state` is the state of the row.
    virtual void backward(int step, const Row& row, const double* state) = 0;
};

/// Takes an adjoint back through a block of steps of which only the first state is kept: the states
/// between are computed again, row after row, and used while they are still in the cache. It costs
/// a second forward step for each step, and saves all that a trajectory moves to memory and back.
///
/// Going up the rows of a tile, the state's steps follow each other a row apart, and the adjoint's
/// steps, down from the last one, follow them: a state waits in the cache for twice the rows that
/// the steps between it and the block's end need. Tiles are columns of the rank's part that are
/// narrow enough for that; what they need of each other, they compute twice.
class Replay {
  public:
    /// Maximum steps of a block: its rows grow with their square, and are to stay in the cache.
    static constexpr int max_steps = 64;

    /// `steps`: of the longest block. `cache`: bytes that a thread's rows should take, of the cache
    /// of level 2. Keeps a reference to `tiling`.
    Replay(const Tiling& tiling, int steps, int threads, std::size_t cache);

    /// Points beyond the tile that a block of so many steps reads of its first state; of its last
    /// adjoint and of what the model reads itself, it reads `steps`.
    [[nodiscard]] static int state_halo(int steps) { return 2 * (steps - 1); }

    /// Take the adjoint of step `last` back to `stop`; the state is that of step `first` <= `stop`.
    void run(ReplayedModel& model, int first, int stop, int last);

    /// Updates of points so far, forwards and backwards; and of them those that were not the tile's
    /// own, or came twice within the rank.
    [[nodiscard]] std::int64_t points() const { return points_; }
    [[nodiscard]] std::int64_t redundant() const { return redundant_; }
    [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

  private:
    const Tiling& tiling_;
    int steps_;
    int threads_;
    int columns_; ///< of a tile, at most
    std::ptrdiff_t pitch_;
    std::size_t values_; ///< of one thread
    parallel::AlignedArray<double> memory_;
    std::int64_t points_ = 0;
    std::int64_t redundant_ = 0;
};

} // namespace uzushio::stencil
