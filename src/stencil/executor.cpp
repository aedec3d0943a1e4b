#include "stencil/executor.hpp"

#include <algorithm>

#include "stencil/ahead.hpp"

namespace uzushio::stencil {

namespace {

/// Memory is asked for the next tile in regions of more bytes than this, and of more steps.
constexpr std::int64_t in_cache = 1 << 20;
constexpr int few_steps = 3;
constexpr int bytes_a_point = 2 * sizeof(double);

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
    [[nodiscard]] bool in_strips() const { return update_.together && steps() > few_steps; }
    [[nodiscard]] Levels& levels() const { return levels_; }

    /// The rows within `rect` of the update that is `v` behind the first.
    void rows(int v, const Rect& rect, int thread, Ahead& ahead) const {
        const Area& parts = area(updates_.begin + v);
        if (rect.empty())
            return;
        auto part = std::partition_point(
            parts.begin(), parts.end(), [&](const Rect& one) { return one.y.end <= rect.y.begin; });
        for (; part != parts.end() && part->y.begin < rect.y.end; ++part)
            if (const Rect piece = intersect(*part, rect); !piece.empty())
                rows_of(updates_.begin + v, piece, thread, ahead);
    }

  private:
    [[nodiscard]] const Area& area(int u) const {
        return region_.updates[static_cast<std::size_t>(u)];
    }

    void rows_of(int u, const Rect& piece, int thread, Ahead& ahead) const {
        const int from = first_ ^ (u & 1);
        const std::ptrdiff_t stride = levels_.stride();
        const bool edges = !tiling_.periodic_y();
        double* here = levels_.row(from, piece.y.begin);
        double* out = levels_.row(from ^ 1, piece.y.begin);
        mirror(here, piece);
        for (int y = piece.y.begin; y < piece.y.end;) {
            const int end = alike_to(y, piece.y.end);
            const bool own = y >= owned_.y.begin && y < owned_.y.end;
            const Range own_x = own ? intersect(piece.x, owned_.x) : Range{};
            Rows rows;
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
            ahead.go_on(rows.count);
            update_(step_ + direction_ * u, rows);
            here += rows.count * stride;
            out += rows.count * stride;
            y = end;
        }
    }

    /// Where rows from y on are no longer alike: at the edges, and where what is own begins or
    /// ends.
    [[nodiscard]] int alike_to(int y, int end) const {
        const auto cut = [&](int at) { end = at > y && at < end ? at : end; };
        if (!tiling_.periodic_y()) {
            cut(1);
            cut(tiling_.ny() - 1);
        }
        cut(owned_.y.begin);
        cut(owned_.y.end);
        return end;
    }

    /// Sets what lies beyond edges without flux: only this update of these rows reads it.
    void mirror(double* here, const Rect& piece) const {
        if (tiling_.periodic_x())
            return;
        const std::ptrdiff_t stride = levels_.stride();
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

/// The width of equal parts of whole cache lines, hardly wider than `most`.
int part_of(int columns, int most) {
    const int parts = (columns + most - 1) / most;
    return ((columns + parts - 1) / parts + 7) / 8 * 8;
}

/// Runs a job's rows within `slab`, tile after tile. A tile is a rectangle that moves down and left
/// as it goes up the levels, so that all it reads is its own or that of tiles before it.
class Tiles {
  public:
    Tiles(const Job& job, const Slab& slab, const CacheBlocking& blocking, int thread)
        : job_(job), slab_(slab), blocking_(blocking), thread_(thread) {}

    template <class Idle> void run(Idle&& idle) {
        const int steps = job_.steps();
        const Range x = job_.bounds().x;
        const int low = std::min(slab_.at(0).begin, slab_.at(steps - 1).begin);
        const int high = std::max(slab_.at(0).end, slab_.at(steps - 1).end);
        // Tiles of equal width beside each other; with one alone there is no need to move.
        const bool whole_rows =
            job_.in_strips() || steps <= few_steps || x.size() <= blocking_.columns;
        const int moved = whole_rows ? 0 : (steps - 1) * columns_a_step;
        const int width = whole_rows ? x.size() : part_of(x.size() + moved, blocking_.columns);
        for (int y = low; y < high + steps - 1; y += blocking_.rows)
            for (int tile = x.begin; tile < x.end + moved; tile += width) {
                const int right = tile + width;
                if (right < x.end + moved)
                    ask_for({{right, right + width}, {y, y + blocking_.rows}});
                else
                    ask_for(
                        {{x.begin, x.begin + width}, {y + blocking_.rows, y + 2 * blocking_.rows}});
                if (job_.in_strips())
                    strips(y);
                else
                    steps_of({0, steps}, {tile, right}, whole_rows ? 0 : columns_a_step, y);
                idle();
            }
    }

  private:
    /// A tile of whole rows, a few steps at a time: three rows of a strip and the one that is made
    /// of them stay in the first cache.
    void strips(int y) {
        const Range x = job_.bounds().x;
        for (int v = 0; v < job_.steps(); v += blocking_.strip_steps) {
            const Range levels = {v, std::min(v + blocking_.strip_steps, job_.steps())};
            const int all = x.size() + (levels.size() - 1) * columns_a_step;
            const int width = part_of(all, blocking_.strip_columns);
            for (int strip = x.begin; strip < x.begin + all; strip += width)
                steps_of(levels, {strip, strip + width}, columns_a_step, y);
        }
    }

    /// These columns of a tile's rows, which move to the left as they go up the levels.
    void steps_of(Range levels, Range columns, int columns_moved, int y) {
        for (int v = levels.begin; v < levels.end; ++v) {
            const int left = (v - levels.begin) * columns_moved;
            const Range rows = {y - v, y - v + blocking_.rows};
            job_.rows(v, {{columns.begin - left, columns.end - left}, intersect(rows, slab_.at(v))},
                      thread_, ahead_);
        }
    }

    /// Ask memory for the lowest level of the next tile while this one is computed.
    void ask_for(const Rect& tile) {
        const Rect& all = job_.bounds();
        if (job_.steps() <= few_steps || bytes_a_point * all.points() <= in_cache)
            return;
        const int pieces = job_.in_strips() ? tile.x.size() / blocking_.strip_columns + 1 : 1;
        ahead_.start(job_.levels(), intersect(tile, all),
                     std::int64_t{pieces} * job_.steps() * blocking_.rows);
    }

    const Job& job_;
    Slab slab_;
    const CacheBlocking& blocking_;
    int thread_;
    Ahead ahead_;
};

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
            Tiles(job, {bounds.y}, blocking_, 0).run(idle);
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
            Tiles(job, {y, i > 0 ? 1 : 0, i + 1 < slabs ? -1 : 0}, blocking_, i).run(calling);
        }
        // What the slabs left out between them.
#pragma omp parallel for num_threads(slabs) schedule(static, 1)
        for (int i = 1; i < slabs; ++i)
            Tiles(job, {{border(i), border(i)}, -1, 1}, blocking_, i - 1).run([] {});
    }
}

} // namespace uzushio::stencil
