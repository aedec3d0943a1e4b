#pragma once

#include <functional>

#include "stencil/levels.hpp"
#include "stencil/plan.hpp"
#include "stencil/row.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// A kernel without its type: calls `function(kernel, step, row)`. A pointer's call a row costs
/// nothing beside the row.
struct RowUpdate {
    void* kernel = nullptr;
    void (*function)(void* kernel, int step, const Row& row) = nullptr;
    void operator()(int step, const Row& row) const { function(kernel, step, row); }
};

/// How regions are cut so that their rows stay in cache.
struct CacheBlocking {
    int rows = 16;      ///< of a tile
    int columns = 2048; ///< of a tile: shorter rows are slower, as the prefetcher starts anew
    int steps = 32;     ///< of a tile; a block may have more
    bool operator==(const CacheBlocking&) const = default;
};

/// Computes regions: any region of any plan, in tiles that move by one point a step down and left,
/// so that what a tile reads has been computed before. Threads take slabs of rows.
class Executor {
  public:
    Executor(const Tiling& tiling, CacheBlocking blocking, int threads)
        : tiling_(tiling), blocking_(blocking), threads_(threads) {}

    /// Compute `region`; level 0 is step `step` and lies in buffer `first`; `direction` is 1 or -1.
    /// `idle` is called now and then by the calling thread.
    void compute(const Region& region, const Rect& owned, Levels& levels, int first, int step,
                 int direction, const RowUpdate& update, const std::function<void()>& idle) const;

  private:
    const Tiling& tiling_;
    CacheBlocking blocking_;
    int threads_;
};

} // namespace uzushio::stencil
