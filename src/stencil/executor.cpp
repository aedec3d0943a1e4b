#include "stencil/executor.hpp"

#include <algorithm>

namespace uzushio::stencil {

namespace {

/// Columns by which tiles move to the left a step. One would do, but whole cache lines keep rows
/// aligned.
constexpr int columns_a_step = 8;

/// Updates [begin, end) of a region under way, and where their values are.
class Job {
  public:
    Job(const Tiling& tiling, const Region& region, Range updates, const Rect& owned,
        Levels& levels, int first, int step, int direction, const RowUpdate& update)
        : tiling_(tiling), region_(region), updates_(updates), owned_(owned), levels_(levels),
          first_(first), step_(step), direction_(direction), update_(update) {
        for (int u = updates.begin; u < updates.end; ++u)
            for (const Rect& rect : area(u))
                bounds_ = around(bounds_, rect);
    }

    /// Holds all points of all updates.
    [[nodiscard]] const Rect& bounds() const { return bounds_; }
    [[nodiscard]] int steps() const { return updates_.size(); }

    /// The rows within `rect` of the update that is `v` behind the first.
    void rows(int v, const Rect& rect, int thread) const {
        const Area& parts = area(updates_.begin + v);
        auto part = std::partition_point(
            parts.begin(), parts.end(), [&](const Rect& one) { return one.y.end <= rect.y.begin; });
        for (; part != parts.end() && part->y.begin < rect.y.end; ++part)
            if (const Rect piece = intersect(*part, rect); !piece.empty())
                rows_of(updates_.begin + v, piece, thread);
    }

  private:
    [[nodiscard]] const Area& area(int u) const {
        return region_.updates[static_cast<std::size_t>(u)];
    }

    void rows_of(int u, const Rect& piece, int thread) const {
        const int from = first_ ^ (u & 1);
        const std::ptrdiff_t stride = levels_.stride();
        const bool edges = !tiling_.periodic_y();
        const bool mirror_left = !tiling_.periodic_x() && piece.x.begin == 0;
        const bool mirror_right = !tiling_.periodic_x() && piece.x.end == tiling_.nx();
        const Range own_x = intersect(piece.x, owned_.x);
        double* here = levels_.row(from, piece.y.begin);
        double* out = levels_.row(from ^ 1, piece.y.begin);
        Row row;
        row.x_begin = piece.x.begin;
        row.x_end = piece.x.end;
        row.thread = thread;
        for (int y = piece.y.begin; y < piece.y.end; ++y, here += stride, out += stride) {
            // Only this row reads these two, and only now.
            if (mirror_left)
                here[-1] = here[0];
            if (mirror_right)
                here[piece.x.end] = here[piece.x.end - 1];
            const bool own = own_x.size() > 0 && y >= owned_.y.begin && y < owned_.y.end;
            row.y = y;
            row.below = edges && y == 0 ? here : here - stride;
            row.here = here;
            row.above = edges && y == tiling_.ny() - 1 ? here : here + stride;
            row.out = out;
            row.own_begin = own ? own_x.begin : piece.x.begin;
            row.own_end = own ? own_x.end : piece.x.begin;
            update_(step_ + direction_ * u, row);
        }
    }

    const Tiling& tiling_;
    const Region& region_;
    Range updates_;
    const Rect& owned_;
    Levels& levels_;
    int first_;
    int step_;
    int direction_;
    const RowUpdate& update_;
    Rect bounds_;
};

/// Rows [begin, end), each side of which moves up by so many rows an update.
struct Slab {
    Range y;
    int begin_moves = 0;
    int end_moves = 0;

    [[nodiscard]] Range at(int v) const {
        return {y.begin + v * begin_moves, y.end + v * end_moves};
    }
};

/// Runs a job's rows within `slab`, tile after tile. A tile is a rectangle that moves down and left
/// as it goes up the levels, so that all it reads is its own or that of tiles before it.
template <class Idle>
void run_tiles(const Job& job, const Slab& slab, const CacheBlocking& blocking, int thread,
               Idle&& idle) {
    const int steps = job.steps();
    const Range x = job.bounds().x;
    const int low = std::min(slab.at(0).begin, slab.at(steps - 1).begin);
    const int high = std::max(slab.at(0).end, slab.at(steps - 1).end);
    // Tiles of equal width, of whole cache lines, beside each other; with one alone there is no
    // need to move.
    const bool whole_rows = x.size() <= blocking.columns;
    const int moved = whole_rows ? 0 : (steps - 1) * columns_a_step;
    const int tiles = (x.size() + moved + blocking.columns - 1) / blocking.columns;
    const int width = ((x.size() + moved + tiles - 1) / tiles + 7) / 8 * 8;
    for (int tile_y = low; tile_y < high + steps - 1; tile_y += blocking.rows)
        for (int tile_x = x.begin; tile_x < x.end + moved; tile_x += width) {
            for (int v = 0; v < steps; ++v) {
                const int shift = whole_rows ? 0 : v * columns_a_step;
                const Range rows = {tile_y - v, tile_y + blocking.rows - v};
                job.rows(v, {{tile_x - shift, tile_x + width - shift}, intersect(rows, slab.at(v))},
                         thread);
            }
            idle();
        }
}

} // namespace

void Executor::compute(const Region& region, const Rect& owned, Levels& levels, int first, int step,
                       int direction, const RowUpdate& update,
                       const std::function<void()>& idle) const {
    const int all = static_cast<int>(region.updates.size());
    for (int begin = 0; begin < all; begin += blocking_.steps) {
        const Range updates = {begin, std::min(begin + blocking_.steps, all)};
        const Job job(tiling_, region, updates, owned, levels, first, step, direction, update);
        const Rect bounds = job.bounds();
        if (bounds.empty())
            continue;
        // A slab's sloping sides must not meet.
        const int slabs = std::clamp(bounds.y.size() / (2 * updates.size()), 1, threads_);
        if (slabs == 1) {
            run_tiles(job, {bounds.y}, blocking_, 0, idle);
            continue;
        }
        const auto border = [&](int i) {
            return parallel::block(bounds.y.size(), slabs, i).begin + bounds.y.begin;
        };
#pragma omp parallel for num_threads(slabs) schedule(static, 1)
        for (int i = 0; i < slabs; ++i) {
            const Range y = {border(i), i + 1 < slabs ? border(i + 1) : bounds.y.end};
            const auto calling = [&] {
                if (i == 0)
                    idle();
            };
            run_tiles(job, {y, i > 0 ? 1 : 0, i + 1 < slabs ? -1 : 0}, blocking_, i, calling);
        }
        // What the slabs left out between them.
#pragma omp parallel for num_threads(slabs) schedule(static, 1)
        for (int i = 1; i < slabs; ++i)
            run_tiles(job, {{border(i), border(i)}, -1, 1}, blocking_, i - 1, [] {});
    }
}

} // namespace uzushio::stencil
