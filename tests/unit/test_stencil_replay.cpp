// Adjoint with recomputed states, against an adjoint with stored states.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include "stencil/replay.hpp"
#include "support/stencil_models.hpp"

namespace uzushio::stencil {
namespace {

using test::Grid;

/// State and adjoint on the whole domain, coupled by products, with coefficients that vary from
/// step to step.
class CoupledModel : public ReplayedModel {
  public:
    CoupledModel(Grid state, Grid adjoint, bool periodic_x, bool periodic_y)
        : result_(adjoint.nx, adjoint.ny), state_(std::move(state)), adjoint_(std::move(adjoint)),
          periodic_x_(periodic_x), periodic_y_(periodic_y) {}

    void state(int y, int begin, int end, double* to) override { copy(state_, y, begin, end, to); }
    void adjoint(int y, int begin, int end, double* to) override {
        copy(adjoint_, y, begin, end, to);
    }
    double* result(int y) override { return &result_.at(0, y); }

    void forward(int step, const StencilRow& row) override {
        EXPECT_EQ(row.own_begin, row.own_end);
        for (int x = row.x_begin; x < row.x_end; ++x)
            row.out[x] = forward_of(step, row.here[x], row.here[x - 1], row.here[x + 1],
                                    row.below[x], row.above[x]);
    }
    void backward(int step, const StencilRow& row, const double* state) override {
        for (int x = row.x_begin; x < row.x_end; ++x)
            row.out[x] = backward_of(step, state[x], row.here[x], row.here[x - 1], row.here[x + 1],
                                     row.below[x], row.above[x]);
        owned += std::max(0, row.own_end - row.own_begin);
    }

    /// Return the adjoint with stored states on the whole domain.
    [[nodiscard]] Grid expected(int first, int stop, int last) const {
        std::vector<Grid> states{state_};
        for (int step = first; step + 1 < last; ++step) {
            Grid next = states.back();
            each([&](int x, int y, auto&& at) {
                const Grid& u = states.back();
                next.at(x, y) = forward_of(step, u.at(x, y), at(u, x - 1, y), at(u, x + 1, y),
                                           at(u, x, y - 1), at(u, x, y + 1));
            });
            states.push_back(next);
        }
        Grid now = adjoint_;
        for (int step = last - 1; step >= stop; --step) {
            Grid made = now;
            const Grid& u = states[static_cast<std::size_t>(step - first)];
            each([&](int x, int y, auto&& at) {
                made.at(x, y) =
                    backward_of(step, u.at(x, y), now.at(x, y), at(now, x - 1, y),
                                at(now, x + 1, y), at(now, x, y - 1), at(now, x, y + 1));
            });
            now = made;
        }
        return now;
    }

    std::atomic<long> owned = 0;
    Grid result_;

  private:
    static double forward_of(int step, double u, double w, double e, double s, double n) {
        return 0.9 * u + 0.02 * (1 + step % 3) * (w + 2.0 * e + 3.0 * s + 4.0 * n) - 0.1 * u * u;
    }
    static double backward_of(int step, double u, double v, double w, double e, double s,
                              double n) {
        return u * v + 0.03 * (1 + step % 2) * (4.0 * w + 3.0 * e + 2.0 * s + n);
    }
    void copy(const Grid& from, int y, int begin, int end, double* to) const {
        // No point beyond a zero-flux edge is read.
        if (!periodic_x_) {
            EXPECT_GE(begin, 0);
            EXPECT_LE(end, from.nx);
        }
        for (int x = begin; x < end; ++x)
            to[x] = from.at((x + 8 * from.nx) % from.nx, (y + 8 * from.ny) % from.ny);
    }
    template <class Work> void each(Work&& work) const {
        const auto at = [this](const Grid& g, int x, int y) {
            const auto index = [](int i, int n, bool periodic) {
                return periodic ? (i + n) % n : std::clamp(i, 0, n - 1);
            };
            return g.at(index(x, g.nx, periodic_x_), index(y, g.ny, periodic_y_));
        };
        for (int y = 0; y < state_.ny; ++y)
            for (int x = 0; x < state_.nx; ++x)
                work(x, y, at);
    }

    Grid state_, adjoint_;
    bool periodic_x_, periodic_y_;
};

TEST(Replay, IsBitwiseEqualToAnAdjointWithStoredStates) {
    std::mt19937 random(7);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    for (int trial = 0; trial < 300; ++trial) {
        const int max_steps = pick(1, 9);
        const bool periodic_x = pick(0, 1) == 1, periodic_y = pick(0, 1) == 1;
        const int nx = pick(1, 150), ny = pick(1, 40), threads = pick(1, 3);
        const int first = pick(-4, 4), last = first + pick(1, max_steps),
                  stop = pick(first, last - 1);
        SCOPED_TRACE(testing::Message()
                     << nx << " x " << ny << ", steps " << first << ", " << stop << ", " << last
                     << ", " << threads << " threads" << (periodic_x ? ", periodic x" : "")
                     << (periodic_y ? ", periodic y" : ""));
        const auto field = [&] {
            Grid grid(nx, ny);
            for (double& value : grid.values)
                value = std::uniform_real_distribution<double>(-1, 1)(random);
            return grid;
        };
        CoupledModel model(field(), field(), periodic_x, periodic_y);
        const Tiling tiling(MPI_COMM_WORLD, nx, ny, 1, 1, periodic_x, periodic_y);
        // A small cache gives tiles of 64 columns.
        Replay replay(tiling, max_steps, threads, pick(0, 1) == 1 ? 1U << 20 : 1U << 10);
        replay.run(model, first, stop, last);
        ASSERT_EQ(model.result_.values, model.expected(first, stop, last).values);
        EXPECT_EQ(model.owned, long{nx} * ny * (last - stop));
        EXPECT_EQ(replay.points() - replay.redundant(),
                  std::int64_t{nx} * ny * (last - 1 - first + last - stop));
    }
}

TEST(Replay, ComputesNothingTwiceInOneTileWithoutNeighbours) {
    CoupledModel model(Grid(50, 20), Grid(50, 20), false, false);
    const Tiling tiling(MPI_COMM_WORLD, 50, 20, 1, 1, false, false);
    Replay replay(tiling, 8, 1, 1U << 20);
    replay.run(model, 0, 0, 8);
    EXPECT_EQ(replay.points(), 50 * 20 * (7 + 8));
    EXPECT_EQ(replay.redundant(), 0);
}

TEST(Replay, HasTheRedundantPointsOfItsHalos) {
    const int nx = 50, ny = 20, steps = 5;
    CoupledModel model(Grid(nx, ny), Grid(nx, ny), true, true);
    const Tiling tiling(MPI_COMM_WORLD, nx, ny, 1, 1, true, true);
    Replay replay(tiling, steps, 1, 1U << 20);
    replay.run(model, 0, 0, steps);
    std::int64_t points = 0;
    const auto grown = [&](int by) { return std::int64_t{nx + 2 * by} * (ny + 2 * by); };
    for (int step = 1; step < steps; ++step)
        points += grown(2 * (steps - 1) - step);
    for (int step = 0; step < steps; ++step)
        points += grown(step);
    EXPECT_EQ(replay.points(), points);
    EXPECT_EQ(replay.redundant(), points - std::int64_t{nx} * ny * (2 * steps - 1));
}

TEST(Replay, RejectsABlockThatExceedsItsMemory) {
    CoupledModel model(Grid(9, 9), Grid(9, 9), false, false);
    const Tiling tiling(MPI_COMM_WORLD, 9, 9, 1, 1, false, false);
    Replay replay(tiling, 3, 1, 1U << 20);
    EXPECT_THROW(replay.run(model, 0, 0, 4), std::logic_error);
    EXPECT_THROW(replay.run(model, 2, 1, 3), std::logic_error);
    EXPECT_THROW(replay.run(model, 0, 3, 3), std::logic_error);
}

} // namespace
} // namespace uzushio::stencil
