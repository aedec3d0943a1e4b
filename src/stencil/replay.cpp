#include "stencil/replay.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace uzushio::stencil {

namespace {

/// Rows per step before the next step: more rows reuse the L1 cache, fewer need less of L2.
constexpr int rows_per_turn = 2;
/// Minimum columns of a tile: below, the ends of rows cost more than the cache saves.
constexpr int min_columns = 64;
/// Columns on each side of a row: alignment to 64 bytes, and one mirror point.
constexpr int margin = 8;

/// Rows of step `first` + `level` that are live at the same time.
constexpr int state_rows(int steps, int level) { return 2 * (steps - level) + rows_per_turn + 1; }
/// Rows of the adjoint, in each of two buffers.
constexpr int adjoint_rows(int steps) { return steps + rows_per_turn + 2; }

constexpr int rows_of_all(int steps) {
    int rows = 2 * adjoint_rows(steps);
    for (int level = 0; level < steps; ++level)
        rows += state_rows(steps, level);
    return rows;
}

/// Ring buffer of the last `depth` rows of a field.
class RowRing {
  public:
    RowRing(double* data, std::ptrdiff_t pitch, int depth, const Rect& all)
        : data_(data - all.x.begin + margin), pitch_(pitch), depth_(depth), begin_(all.y.begin) {}

    [[nodiscard]] double* row(int y) const {
        return data_ + std::ptrdiff_t{(y - begin_ + depth_) % depth_} * pitch_;
    }

  private:
    double* data_;
    std::ptrdiff_t pitch_;
    int depth_;
    int begin_;
};

/// Replay of a block on one tile.
class TileReplay {
  public:
    TileReplay(const Tiling& tiling, ReplayedModel& model, const Rect& tile, int first, int stop,
               int last, double* memory, std::ptrdiff_t pitch, int thread)
        : tiling_(tiling), model_(model), tile_(tile), first_(first), stop_(stop), last_(last),
          all_(grown(state_growth(first))) {
        row_.thread = thread;
        const int steps = last - first;
        const auto ring = [&](int depth) {
            RowRing made(memory, pitch, depth, all_);
            memory += std::ptrdiff_t{depth} * pitch;
            return made;
        };
        for (int level = 0; level < steps; ++level)
            states_.push_back(ring(state_rows(steps, level)));
        for (int parity = 0; parity < 2; ++parity)
            adjoints_.push_back(ring(adjoint_rows(steps)));
    }

    void run() {
        const int steps = last_ - first_;
        const int lag = steps + last_ - stop_ - 1; // of the last row, behind the first
        // In a block of one step the adjoint begins lower.
        const int begin = grown(adjoint_growth(last_)).y.begin + steps - 1;
        for (int front = std::min(all_.y.begin, begin); front < tile_.y.end + lag;
             front += rows_per_turn) {
            const Range rows{front, front + rows_per_turn};
            load(rows);
            for (int step = first_; step + 1 < last_; ++step)
                forward(step, down(rows, step + 1 - first_));
            load_adjoint(down(rows, steps - 1));
            for (int step = last_ - 1; step >= stop_; --step)
                backward(step, down(rows, steps + last_ - 1 - step));
        }
    }

    [[nodiscard]] std::int64_t points() const { return points_; }

  private:
    /// Halo widths of the adjoint and of the state of a step.
    [[nodiscard]] int adjoint_growth(int step) const { return step - stop_; }
    [[nodiscard]] int state_growth(int step) const {
        return (last_ - 1 - stop_) + (last_ - 1 - step);
    }

    /// The tile extended by `by` points on each side, but not beyond a zero-flux edge.
    [[nodiscard]] Rect grown(int by) const {
        Rect rect{{tile_.x.begin - by, tile_.x.end + by}, {tile_.y.begin - by, tile_.y.end + by}};
        if (!tiling_.periodic_x())
            rect.x = intersect(rect.x, {0, tiling_.nx()});
        if (!tiling_.periodic_y())
            rect.y = intersect(rect.y, {0, tiling_.ny()});
        return rect;
    }

    static Range down(Range rows, int by) { return {rows.begin - by, rows.end - by}; }

    [[nodiscard]] RowRing& state(int step) {
        return states_[static_cast<std::size_t>(step - first_)];
    }
    [[nodiscard]] RowRing& adjoint(int step) {
        return adjoints_[static_cast<std::size_t>((last_ - step) % 2)];
    }

    void load(Range rows) {
        const Range y = intersect(rows, all_.y);
        for (int row = y.begin; row < y.end; ++row)
            model_.state(row, all_.x.begin, all_.x.end, state(first_).row(row));
    }

    void load_adjoint(Range rows) {
        const Rect all = grown(adjoint_growth(last_));
        const Range y = intersect(rows, all.y);
        for (int row = y.begin; row < y.end; ++row)
            model_.adjoint(row, all.x.begin, all.x.end, adjoint(last_).row(row));
    }

    void forward(int step, Range rows) {
        const Rect all = grown(state_growth(step + 1));
        const Range y = intersect(rows, all.y);
        for (int row = y.begin; row < y.end; ++row) {
            set_rows(state(step), row, all.x);
            row_.out = state(step + 1).row(row);
            row_.own_begin = row_.own_end = all.x.begin;
            model_.forward(step, row_);
        }
        count(all.x, y);
    }

    void backward(int step, Range rows) {
        const Rect all = grown(adjoint_growth(step));
        const Range y = intersect(rows, all.y);
        for (int row = y.begin; row < y.end; ++row) {
            set_rows(adjoint(step + 1), row, all.x);
            row_.out = step == stop_ ? model_.result(row) : adjoint(step).row(row);
            const bool own = row >= tile_.y.begin && row < tile_.y.end;
            row_.own_begin = own ? tile_.x.begin : all.x.begin;
            row_.own_end = own ? tile_.x.end : all.x.begin;
            model_.backward(step, row_, state(step).row(row));
        }
        count(all.x, y);
    }

    /// Set the three input rows of row y.
    void set_rows(const RowRing& ring, int y, Range x) {
        double* here = ring.row(y);
        // Mirror points, which only this update reads.
        if (!tiling_.periodic_x() && x.begin == 0)
            here[-1] = here[0];
        if (!tiling_.periodic_x() && x.end == tiling_.nx())
            here[x.end] = here[x.end - 1];
        row_.y = y;
        row_.x_begin = x.begin;
        row_.x_end = x.end;
        row_.here = here;
        row_.below = !tiling_.periodic_y() && y == 0 ? here : ring.row(y - 1);
        row_.above = !tiling_.periodic_y() && y == tiling_.ny() - 1 ? here : ring.row(y + 1);
    }

    void count(Range x, Range y) {
        if (y.size() > 0)
            points_ += std::int64_t{x.size()} * y.size();
    }

    const Tiling& tiling_;
    ReplayedModel& model_;
    Rect tile_;
    int first_, stop_, last_;
    Rect all_;
    std::vector<RowRing> states_, adjoints_;
    StencilRow row_;
    std::int64_t points_ = 0;
};

} // namespace

Replay::Replay(const Tiling& tiling, int steps, int threads, std::size_t cache)
    : tiling_(tiling), steps_(steps), threads_(threads) {
    const int side_columns = 2 * (state_halo(steps) + margin);
    const auto fitting =
        static_cast<int>(cache / sizeof(double)) / rows_of_all(steps) - side_columns;
    const int width = tiling.own().x.size();
    const int tiles = (width - 1) / std::max(fitting, min_columns) + 1;
    columns_ = (width - 1) / tiles + 1;
    // An odd number of cache lines spreads rows over cache sets.
    pitch_ = ((columns_ + side_columns + 7) / 8 | 1) * 8;
    values_ = static_cast<std::size_t>(pitch_) * static_cast<std::size_t>(rows_of_all(steps)) +
              std::size_t{2} * margin;
    memory_ = parallel::AlignedArray<double>(values_ * static_cast<std::size_t>(threads));
}

void Replay::run(ReplayedModel& model, int first, int stop, int last) {
    if (first > stop || stop >= last || last - first > steps_)
        throw std::logic_error("stencil: the steps of a replay exceed its memory");
    const Rect& rect = tiling_.own();
    const int slabs = std::min(threads_, rect.y.size());
    std::int64_t points = 0;
#pragma omp parallel for num_threads(slabs) schedule(static, 1) reduction(+ : points)
    for (int i = 0; i < slabs; ++i) {
        const Range slab = parallel::block(rect.y.size(), slabs, i);
        const Range y{rect.y.begin + slab.begin, rect.y.begin + slab.end};
        double* memory = memory_.data() + static_cast<std::size_t>(i) * values_;
        for (int x = rect.x.begin; x < rect.x.end; x += columns_) {
            const Rect part{{x, std::min(x + columns_, rect.x.end)}, y};
            TileReplay replay(tiling_, model, part, first, stop, last, memory, pitch_, i);
            replay.run();
            points += replay.points();
        }
    }
    points_ += points;
    redundant_ += points - rect.points() * ((last - 1 - first) + (last - stop));
}

} // namespace uzushio::stencil
