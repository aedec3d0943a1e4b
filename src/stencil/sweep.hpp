#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "stencil/counters.hpp"
#include "stencil/exchanger.hpp"
#include "stencil/executor.hpp"
#include "stencil/levels.hpp"
#include "stencil/row.hpp"
#include "stencil/scheme.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

struct SweepOptions {
    std::string scheme = "pa1"; ///< one of `schemes()`
    int block_steps = 1;        ///< steps between exchanges; 1 for `plain`
    int margin = 0;      ///< points beyond the tile that are computed, too, at every step (not all
                         ///< schemes can): rows of them are offered, but are not own
    CacheBlocking cache; ///< how a rank cuts its part
    int threads = 1;     ///< that compute within a rank
    bool overlap = true; ///< compute while messages are under way
};

/// Runs a model of two dimensions whose next step needs a point's four neighbours, forwards or
/// backwards, with one exchange for many steps. The result is the same to the last bit with all
/// options and on all numbers of ranks, if the kernel computes a point in the same way wherever the
/// row begins.
class Sweep {
  public:
    /// Throws `std::invalid_argument`, on all ranks, with what is allowed. Keeps a reference to
    /// `tiling`. Plans of blocks shorter than usual are made when they are first needed.
    Sweep(const Tiling& tiling, SweepOptions options);

    /// Step this rank's tile, rows of `stride` doubles, in place from step `first` to step `last`
    /// (collective). Steps run down if `last` is less; each is `kernel.row(step, row)`, where
    /// `step` is that of the values that are read: the row written is step + 1, or step - 1.
    ///
    /// Blocks begin at the lower of the two steps, and the last of them is shorter if need be. Both
    /// directions have the same blocks: scheme `diamond` then updates from step s to s - 1 on the
    /// rank, in the very rows, on which it updated from s - 1 to s.
    ///
    /// A kernel that touches nothing but the field better has `rows(step, rows)`, in place of
    /// `row`: it is given pieces of several rows at a time, which are short enough to stay in the
    /// first cache (see `Rows`, `CacheBlocking`).
    ///
    /// Both are called by `options().threads` threads.
    template <class Kernel>
    void run(double* tile, std::ptrdiff_t stride, int first, int last, Kernel& kernel) {
        run_rows(tile, stride, first, last, RowUpdate::of(kernel));
    }

    [[nodiscard]] const Tiling& tiling() const { return tiling_; }
    [[nodiscard]] const SweepOptions& options() const { return options_; }
    /// Holds all points that `row` is called with: memory that a kernel indexes by points needs so
    /// much room, and may be read there.
    [[nodiscard]] const Rect& offered() const { return offered_; }
    /// Holds all points that are own in any row: the tile, but for scheme `diamond`.
    [[nodiscard]] const Rect& owned() const { return owned_; }

    [[nodiscard]] const Counters& counters() const { return counters_; }
    void reset_counters() { counters_ = {}; }
    [[nodiscard]] std::size_t bytes() const { return levels_.bytes() + exchanger_.bytes(); }

  private:
    void run_rows(double* tile, std::ptrdiff_t stride, int first, int last,
                  const RowUpdate& update);
    void block(int step, const BlockKind& kind, const RowUpdate& update);
    void move_tiles(int to);
    void count_exchange(const Exchange& exchange);
    const Plan& plan(const BlockKind& kind);

    const Tiling& tiling_;
    SweepOptions options_;
    const Scheme& scheme_;
    Levels levels_;
    Exchanger exchanger_;
    Executor executor_;
    std::map<BlockKind, Plan> plans_;
    Rect offered_;
    Rect owned_;
    Counters counters_;
    int current_ = 0; ///< the buffer that holds the step reached
    int moved_ = 0;   ///< points by which tiles are away from home
};

} // namespace uzushio::stencil
