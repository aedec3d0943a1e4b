#include "stencil/executor.hpp"

#include <algorithm>

#include "stencil/prefetcher.hpp"

namespace uzushio::stencil {

namespace {

/// The next tile is prefetched in regions of more bytes and more steps than these.
constexpr std::int64_t prefetch_min_bytes = 1 << 20;
constexpr int max_unblocked_steps = 3;
constexpr int bytes_per_point = 2 * sizeof(double);

/// Columns by which tiles shift to the left per step. One would suffice; whole cache lines keep
/// rows aligned.
constexpr int columns_per_step = 8;

/// Updates [begin, end) of a region, with the buffers and the kernel.
class RegionUpdates {
  public:
    RegionUpdates(const Tiling& tiling, const Region& region, Range updates, const Rect& owned,
                  DoubleBuffer& buffers, int first, int step, int direction,
                  const RowKernel& kernel)
        : tiling_(tiling), region_(region), updates_(updates), owned_(owned), buffers_(buffers),
          first_(first), step_(step), direction_(direction), kernel_(kernel) {
        for (int u = updates.begin; u < updates.end; ++u)
            for (const Rect& rect : area(u))
                bounds_ = bounding_rect(bounds_, rect);
    }

    /// Bounding rectangle of all updates.
    [[nodiscard]] const Rect& bounds() const { return bounds_; }
    [[nodiscard]] int steps() const { return updates_.size(); }
    [[nodiscard]] bool in_strips() const {
        return kernel_.grouped && steps() > max_unblocked_steps;
    }
    [[nodiscard]] DoubleBuffer& buffers() const { return buffers_; }

    /// Compute the rows within `rect` of update `v`, counted from the first.
    void rows(int v, const Rect& rect, int thread, Prefetcher& prefetcher) const {
        const Area& rects = area(updates_.begin + v);
        if (rect.empty())
            return;
        auto rect_at = std::partition_point(rects.begin(), rects.end(), [&](const Rect& earlier) {
            return earlier.y.end <= rect.y.begin;
        });
        for (; rect_at != rects.end() && rect_at->y.begin < rect.y.end; ++rect_at)
            if (const Rect piece = intersect(*rect_at, rect); !piece.empty())
                rows_of(updates_.begin + v, piece, thread, prefetcher);
    }

  private:
    [[nodiscard]] const Area& area(int u) const {
        return region_.updates[static_cast<std::size_t>(u)];
    }

    void rows_of(int u, const Rect& piece, int thread, Prefetcher& prefetcher) const {
        const int from = first_ ^ (u & 1);
        const std::ptrdiff_t stride = buffers_.stride();
        const bool edges = !tiling_.periodic_y();
        double* here = buffers_.row(from, piece.y.begin);
        double* out = buffers_.row(from ^ 1, piece.y.begin);
        mirror(here, piece);
        for (int y = piece.y.begin; y < piece.y.end;) {
            const int end = end_of_uniform_rows(y, piece.y.end);
            const bool own = y >= owned_.y.begin && y < owned_.y.end;
            const Range own_x = own ? intersect(piece.x, owned_.x) : Range{};
            RowGroup rows;
            rows.first.y = y;
            rows.first.x_begin = piece.x.begin;
            rows.first.x_end = piece.x.end;
            rows.first.below = edges && y == 0 ? here : here - stride;
            rows.first.here = here;
            rows.first.above = edges && y == tiling_.ny() - 1 ? here : here + stride;
            rows.first.out = out;
            rows.first.own_begin = own_x.size() > 0 ? own_x.begin : piece.x.begin;
            rows.first.own_end = own_x.size() > 0 ? own_x.end : piece.x.begin;
            rows.first.thread = thread;
            rows.count = end - y;
            rows.stride = stride;
            prefetcher.advance(rows.count);
            kernel_(step_ + direction_ * u, rows);
            here += rows.count * stride;
            out += rows.count * stride;
            y = end;
        }
    }

    /// Return the end of the rows from y on that have the same neighbours and ownership.
    [[nodiscard]] int end_of_uniform_rows(int y, int end) const {
        const auto cut = [&](int at) { end = at > y && at < end ? at : end; };
        if (!tiling_.periodic_y()) {
            cut(1);
            cut(tiling_.ny() - 1);
        }
        cut(owned_.y.begin);
        cut(owned_.y.end);
        return end;
    }

    /// Set the mirror points beyond zero-flux edges; only this update of these rows reads them.
    void mirror(double* here, const Rect& piece) const {
        if (tiling_.periodic_x())
            return;
        const std::ptrdiff_t stride = buffers_.stride();
        const int last = tiling_.nx() - 1;
        if (piece.x.begin == 0)
            for (int i = 0; i < piece.y.size(); ++i)
                here[i * stride - 1] = here[i * stride];
        if (piece.x.end == last + 1)
            for (int i = 0; i < piece.y.size(); ++i)
                here[i * stride + last + 1] = here[i * stride + last];
    }

    const Tiling& tiling_;
    const Region& region_;
    Range updates_;
    const Rect& owned_;
    DoubleBuffer& buffers_;
    int first_;
    int step_;
    int direction_;
    const RowKernel& kernel_;
    Rect bounds_;
};

/// Rows [begin, end), each side of which shifts by a number of rows per update.
struct SlopedRows {
    Range y;
    int begin_moves = 0;
    int end_moves = 0;

    [[nodiscard]] Range at(int v) const {
        return {y.begin + v * begin_moves, y.end + v * end_moves};
    }
};

/// Width of equal parts in whole cache lines, at most `target` before rounding up.
int part_width(int columns, int target) {
    const int parts = (columns + target - 1) / target;
    return ((columns + parts - 1) / parts + 7) / 8 * 8;
}

/// Loop over the tiles of a region within `slab`. A tile is a rectangle that shifts down and left
/// from level to level, so that it reads only its own values and those of earlier tiles.
class TileLoop {
  public:
    TileLoop(const RegionUpdates& region, const SlopedRows& slab, const CacheBlocking& blocking,
             int thread)
        : region_(region), slab_(slab), blocking_(blocking), thread_(thread) {}

    template <class Progress> void run(Progress&& progress) {
        const int steps = region_.steps();
        const Range x = region_.bounds().x;
        const int low = std::min(slab_.at(0).begin, slab_.at(steps - 1).begin);
        const int high = std::max(slab_.at(0).end, slab_.at(steps - 1).end);
        // Tiles of equal width; a single tile does not shift along x.
        const bool whole_rows =
            region_.in_strips() || steps <= max_unblocked_steps || x.size() <= blocking_.columns;
        const int moved = whole_rows ? 0 : (steps - 1) * columns_per_step;
        const int width = whole_rows ? x.size() : part_width(x.size() + moved, blocking_.columns);
        for (int y = low; y < high + steps - 1; y += blocking_.rows)
            for (int tile = x.begin; tile < x.end + moved; tile += width) {
                const int right = tile + width;
                if (right < x.end + moved)
                    prefetch_tile({{right, right + width}, {y, y + blocking_.rows}});
                else
                    prefetch_tile(
                        {{x.begin, x.begin + width}, {y + blocking_.rows, y + 2 * blocking_.rows}});
                if (region_.in_strips())
                    strips(y);
                else
                    steps_of({0, steps}, {tile, right}, whole_rows ? 0 : columns_per_step, y);
                progress();
            }
    }

  private:
    /// Compute a tile of whole rows in strips, a few steps at a time: the three input rows of a
    /// strip and its output row stay in the L1 cache.
    void strips(int y) {
        const Range x = region_.bounds().x;
        for (int v = 0; v < region_.steps(); v += blocking_.strip_steps) {
            const Range levels = {v, std::min(v + blocking_.strip_steps, region_.steps())};
            const int all = x.size() + (levels.size() - 1) * columns_per_step;
            const int width = part_width(all, blocking_.strip_columns);
            for (int strip = x.begin; strip < x.begin + all; strip += width)
                steps_of(levels, {strip, strip + width}, columns_per_step, y);
        }
    }

    /// Compute columns of a tile's rows, shifted to the left by `columns_moved` per level.
    void steps_of(Range levels, Range columns, int columns_moved, int y) {
        for (int v = levels.begin; v < levels.end; ++v) {
            const int left = (v - levels.begin) * columns_moved;
            const Range rows = {y - v, y - v + blocking_.rows};
            region_.rows(v,
                         {{columns.begin - left, columns.end - left}, intersect(rows, slab_.at(v))},
                         thread_, prefetcher_);
        }
    }

    /// Prefetch the lowest level of the next tile during the computation of this one.
    void prefetch_tile(const Rect& tile) {
        const Rect& all = region_.bounds();
        if (region_.steps() <= max_unblocked_steps ||
            bytes_per_point * all.points() <= prefetch_min_bytes)
            return;
        const int pieces = region_.in_strips() ? tile.x.size() / blocking_.strip_columns + 1 : 1;
        prefetcher_.start(region_.buffers(), intersect(tile, all),
                          std::int64_t{pieces} * region_.steps() * blocking_.rows);
    }

    const RegionUpdates& region_;
    SlopedRows slab_;
    const CacheBlocking& blocking_;
    int thread_;
    Prefetcher prefetcher_;
};

} // namespace

void Executor::compute(const Region& region, const Rect& owned, DoubleBuffer& buffers, int first,
                       int step, int direction, const RowKernel& kernel,
                       const std::function<void()>& progress) const {
    const int all = static_cast<int>(region.updates.size());
    for (int begin = 0; begin < all; begin += blocking_.steps) {
        const Range updates = {begin, std::min(begin + blocking_.steps, all)};
        const RegionUpdates part(tiling_, region, updates, owned, buffers, first, step, direction,
                                 kernel);
        const Rect bounds = part.bounds();
        if (bounds.empty())
            continue;
        // The sloping sides of a slab must not intersect.
        const int slabs = std::clamp(bounds.y.size() / (2 * updates.size()), 1, threads_);
        if (slabs == 1) {
            TileLoop(part, {bounds.y}, blocking_, 0).run(progress);
            continue;
        }
        const auto border = [&](int i) {
            return parallel::block(bounds.y.size(), slabs, i).begin + bounds.y.begin;
        };
#pragma omp parallel for num_threads(slabs) schedule(static, 1)
        for (int i = 0; i < slabs; ++i) {
            const Range y = {border(i), i + 1 < slabs ? border(i + 1) : bounds.y.end};
            const auto on_calling_thread = [&] {
                if (i == 0)
                    progress();
            };
            TileLoop(part, {y, i > 0 ? 1 : 0, i + 1 < slabs ? -1 : 0}, blocking_, i)
                .run(on_calling_thread);
        }
        // The wedges between the slabs.
#pragma omp parallel for num_threads(slabs) schedule(static, 1)
        for (int i = 1; i < slabs; ++i)
            TileLoop(part, {{border(i), border(i)}, -1, 1}, blocking_, i - 1).run([] {});
    }
}

} // namespace uzushio::stencil
