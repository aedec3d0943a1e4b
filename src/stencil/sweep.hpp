#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "stencil/blocking_scheme.hpp"
#include "stencil/double_buffer.hpp"
#include "stencil/exchanger.hpp"
#include "stencil/executor.hpp"
#include "stencil/row.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// Counters of this rank's sweeps.
struct SweepCounters {
    std::int64_t steps = 0;
    std::int64_t blocks = 0;
    std::int64_t messages = 0;  ///< sent to other ranks
    std::int64_t bytes = 0;     ///< in these messages
    std::int64_t points = 0;    ///< updates of a point, including redundant ones
    std::int64_t redundant = 0; ///< updates of points that another rank owns
    bool operator==(const SweepCounters&) const = default;
};

struct SweepOptions {
    std::string scheme = "pa1"; ///< one of `schemes()`
    int block_steps = 1;        ///< steps between exchanges; 1 for `plain`
    int margin = 0; ///< points beyond the tile that are updated at every step, not as own points
                    ///< (see `BlockingScheme::margins`)
    CacheBlocking cache;
    int threads = 1;     ///< per rank
    bool overlap = true; ///< overlap communication with computation
};

/// Time-blocked sweep of a two-dimensional five-point model, forward or backward, with one exchange
/// for many steps. The result is bitwise independent of all options and of the number of ranks if
/// the kernel's result at a point is independent of the beginning of the row.
class Sweep {
  public:
    /// Throw `std::invalid_argument`, on all ranks, if an option is out of range. `tiling` must
    /// outlive the sweep. Plans of shorter blocks are computed on first use.
    Sweep(const Tiling& tiling, SweepOptions options);

    /// Advance this rank's tile, rows of `stride` doubles, in place from step `first` to step
    /// `last` (collective); steps decrease if `last` is less. Each row is `kernel.row(step, row)`,
    /// where `step` is that of the input: the output is step + 1, or step - 1.
    ///
    /// Blocks are counted from the lower of the two steps; the last one may be shorter. Both
    /// directions have the same blocks: with scheme `diamond` the ranks and rows that update step s
    /// to s - 1 are those that updated s - 1 to s.
    ///
    /// A kernel that accesses only the field should have `rows(step, rows)` in place of `row`: it
    /// gets groups of rows short enough for the L1 cache (see `RowGroup`, `CacheBlocking`).
    ///
    /// Both are called concurrently by `options().threads` threads.
    template <class Kernel>
    void run(double* tile, std::ptrdiff_t stride, int first, int last, Kernel& kernel) {
        run_rows(tile, stride, first, last, RowKernel::of(kernel));
    }

    [[nodiscard]] const Tiling& tiling() const { return tiling_; }
    [[nodiscard]] const SweepOptions& options() const { return options_; }
    /// Bounding rectangle of all points that `row` is called with: the extent of arrays that a
    /// kernel indexes by points.
    [[nodiscard]] const Rect& update_bounds() const { return update_bounds_; }
    /// Bounding rectangle of all own points: the tile, except for scheme `diamond`.
    [[nodiscard]] const Rect& owned_bounds() const { return owned_; }

    [[nodiscard]] const SweepCounters& counters() const { return counters_; }
    [[nodiscard]] std::size_t bytes() const { return buffers_.bytes() + exchanger_.bytes(); }

  private:
    void run_rows(double* tile, std::ptrdiff_t stride, int first, int last,
                  const RowKernel& kernel);
    void run_block(int step, const BlockKind& kind, const RowKernel& kernel);
    void move_tiles(int to);
    void count_exchange(const ExchangePlan& exchange);
    const SweepPlan& plan(const BlockKind& kind);

    const Tiling& tiling_;
    SweepOptions options_;
    const BlockingScheme& scheme_;
    DoubleBuffer buffers_;
    Exchanger exchanger_;
    Executor executor_;
    std::map<BlockKind, SweepPlan> plans_;
    Rect update_bounds_;
    Rect owned_;
    SweepCounters counters_;
    int current_ = 0; ///< buffer of the current step
    int moved_ = 0;   ///< current shift of the tiles, in points
};

} // namespace uzushio::stencil
