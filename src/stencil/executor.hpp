#pragma once

#include <functional>

#include "stencil/levels.hpp"
#include "stencil/plan.hpp"
#include "stencil/row.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// A kernel without its type: calls `function(kernel, step, rows)`.
struct RowUpdate {
    void* kernel = nullptr;
    void (*function)(void* kernel, int step, const Rows& rows) = nullptr;
    bool together = false; ///< it has `rows`
    void operator()(int step, const Rows& rows) const { function(kernel, step, rows); }

    /// Of a kernel that has `rows(step, rows)`, or else `row(step, row)`.
    template <class Kernel> static RowUpdate of(Kernel& kernel) {
        constexpr bool together = requires(const Rows& rows) { kernel.rows(0, rows); };
        return {&kernel,
                [](void* self, int step, const Rows& rows) {
                    Kernel& typed = *static_cast<Kernel*>(self);
                    if constexpr (together)
                        typed.rows(step, rows);
                    else
                        rows.each([&](const Row& row) { typed.row(step, row); });
                },
                together};
    }
};

/// How regions are cut so that their rows stay in cache.
struct CacheBlocking {
    int rows = 8;       ///< of a tile
    int columns = 1000; ///< of a tile
    int steps = 32;     ///< of a tile; a block may have more
    /// Of a strip. A kernel that takes rows together has tiles of whole rows, of which strips are
    /// computed one after the other, so many steps at a time.
    int strip_columns = 256;
    int strip_steps = 16;
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
