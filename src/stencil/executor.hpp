#pragma once

#include <functional>

#include "stencil/double_buffer.hpp"
#include "stencil/row.hpp"
#include "stencil/sweep_plan.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// Type-erased reference to a kernel.
struct RowKernel {
    void* kernel = nullptr;
    void (*function)(void* kernel, int step, const RowGroup& rows) = nullptr;
    bool grouped = false; ///< whether the kernel has `rows`
    void operator()(int step, const RowGroup& rows) const { function(kernel, step, rows); }

    /// Refer to a kernel that has `rows(step, rows)`, or else `row(step, row)`.
    template <class Kernel> static RowKernel of(Kernel& kernel) {
        constexpr bool grouped = requires(const RowGroup& rows) { kernel.rows(0, rows); };
        return {&kernel,
                [](void* self, int step, const RowGroup& rows) {
                    Kernel& typed = *static_cast<Kernel*>(self);
                    if constexpr (grouped)
                        typed.rows(step, rows);
                    else
                        rows.each([&](const StencilRow& row) { typed.row(step, row); });
                },
                grouped};
    }
};

/// Sizes of tiles, so that their rows stay in cache.
struct CacheBlocking {
    int rows = 8;       ///< of a tile
    int columns = 1000; ///< of a tile
    int steps = 32;     ///< of a tile; a block may have more
    // Kernels with `rows` get tiles of whole rows, divided into strips of so many columns, which
    // are computed one after the other, so many steps at a time.
    int strip_columns = 256;
    int strip_steps = 16;
    bool operator==(const CacheBlocking&) const = default;
};

/// Executor of regions in tiles that shift down and left from step to step, so that all inputs of a
/// tile are computed before it. Each thread computes a slab of rows.
class Executor {
  public:
    Executor(const Tiling& tiling, CacheBlocking blocking, int threads)
        : tiling_(tiling), blocking_(blocking), threads_(threads) {}

    /// Compute `region`; level 0 is step `step` and is in buffer `first`; `direction` is 1 or -1.
    /// The calling thread calls `progress` after each of its tiles.
    void compute(const Region& region, const Rect& owned, DoubleBuffer& buffers, int first,
                 int step, int direction, const RowKernel& kernel,
                 const std::function<void()>& progress) const;

  private:
    const Tiling& tiling_;
    CacheBlocking blocking_;
    int threads_;
};

} // namespace uzushio::stencil
