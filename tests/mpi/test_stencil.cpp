// Every scheme of time blocking passes this suite on every number of ranks.
// ranks: 1 2 3 4 6 8
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "stencil/sweep.hpp"
#include "support/stencil_models.hpp"

namespace uzushio::stencil {
namespace {

using test::Grid;
using test::Growth;
using test::Heat;

int ranks() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/// Parameters of one sweep.
struct Case {
    int nx = 0, ny = 0;
    int x_tiles = 1, y_tiles = 1;
    bool periodic_x = false, periodic_y = false;
    int first = 0, last = 0;
    SweepOptions options;

    [[nodiscard]] Tiling tiling() const {
        return {MPI_COMM_WORLD, nx, ny, x_tiles, y_tiles, periodic_x, periodic_y};
    }
    [[nodiscard]] std::string text() const {
        return options.scheme + ' ' + std::to_string(nx) + 'x' + std::to_string(ny) + " on " +
               std::to_string(x_tiles) + 'x' + std::to_string(y_tiles) +
               (periodic_x ? " periodic x" : "") + (periodic_y ? " periodic y" : "") + " steps " +
               std::to_string(first) + ".." + std::to_string(last) + " by " +
               std::to_string(options.block_steps) + " margin " + std::to_string(options.margin) +
               " cache " + std::to_string(options.cache.rows) + 'x' +
               std::to_string(options.cache.columns) + 'x' + std::to_string(options.cache.steps) +
               " strips " + std::to_string(options.cache.strip_columns) + 'x' +
               std::to_string(options.cache.strip_steps) + " threads " +
               std::to_string(options.threads) + (options.overlap ? "" : " no overlap");
    }
};

/// Random valid case for a scheme, identical on all ranks.
Case random_case(std::mt19937& random, const BlockingScheme& scheme) {
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    for (;;) {
        Case one;
        std::vector<int> divisors;
        for (int n = 1; n <= ranks(); ++n)
            if (ranks() % n == 0)
                divisors.push_back(n);
        one.x_tiles =
            divisors[static_cast<std::size_t>(pick(0, static_cast<int>(divisors.size()) - 1))];
        one.y_tiles = ranks() / one.x_tiles;
        one.nx = pick(one.x_tiles, 30 * one.x_tiles + 40);
        one.ny = pick(one.y_tiles, 30 * one.y_tiles + 40);
        one.periodic_x = pick(0, 1) == 1;
        one.periodic_y = pick(0, 1) == 1;
        one.first = pick(-5, 5);
        one.last = one.first + pick(-20, 20);
        one.options.scheme = scheme.name;
        one.options.margin = scheme.margins ? pick(0, 2) : 0;
        one.options.cache = {pick(1, 20), pick(1, 60), pick(1, 9), pick(1, 40), pick(1, 9)};
        // Few threads per rank if many ranks share few cores.
        one.options.threads = ranks() <= 2 ? pick(1, 3) : pick(0, 7) == 0 ? 2 : 1;
        one.options.overlap = pick(0, 1) == 1;
        const Tiling tiling = one.tiling();
        const int max_steps = scheme.max_steps(tiling, one.options.margin);
        if (max_steps < 1)
            continue;
        one.options.block_steps = pick(1, std::min(max_steps, 12));
        return one;
    }
}

Grid random_grid(std::mt19937& random, int nx, int ny) {
    Grid grid(nx, ny);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (double& value : grid.values)
        value = uniform(random);
    return grid;
}

/// This rank's tile of a grid, with a row stride above its width.
struct Tile {
    Tile(const Grid& grid, const Rect& rect)
        : own(rect), stride(rect.x.size() + 3),
          values(static_cast<std::size_t>(stride * rect.y.size()), -7.0) {
        for (int y = own.y.begin; y < own.y.end; ++y)
            for (int x = own.x.begin; x < own.x.end; ++x)
                at(x, y) = grid.at(x, y);
    }
    double& at(int x, int y) {
        return values[static_cast<std::size_t>((y - own.y.begin) * stride + x - own.x.begin)];
    }

    Rect own;
    std::ptrdiff_t stride;
    std::vector<double> values;
};

/// Return the number of points that differ in any bit.
int differences(Tile& tile, const Grid& grid) {
    int sum = 0;
    for (int y = tile.own.y.begin; y < tile.own.y.end; ++y)
        for (int x = tile.own.x.begin; x < tile.own.x.end; ++x)
            sum += tile.at(x, y) != grid.at(x, y) ? 1 : 0;
    return sum;
}

class EveryScheme : public testing::TestWithParam<std::string_view> {
  protected:
    [[nodiscard]] const BlockingScheme& scheme() const { return find_scheme(GetParam()); }
};

TEST_P(EveryScheme, IsBitwiseEqualToFullRowsOnOneRank) {
    std::mt19937 random(2017);
    for (int trial = 0; trial < (ranks() <= 2 ? 60 : 25); ++trial) {
        const Case one = random_case(random, scheme());
        SCOPED_TRACE(one.text());
        const Grid speed = random_grid(random, one.nx, one.ny);
        const Grid start = random_grid(random, one.nx, one.ny);
        Growth growth{&speed};
        const Grid end =
            test::step_serially(start, one.periodic_x, one.periodic_y, one.first, one.last, growth);

        const Tiling tiling = one.tiling();
        Sweep sweep(tiling, one.options);
        Tile tile(start, tiling.own());
        sweep.run(tile.values.data(), tile.stride, one.first, one.last, growth);

        ASSERT_EQ(differences(tile, end), 0);
        Tile strips(start, tiling.own());
        test::Grouped<Growth> grouped{growth};
        sweep.run(strips.values.data(), strips.stride, one.first, one.last, grouped);
        ASSERT_EQ(differences(strips, end), 0) << "rows grouped";
        for (int y = tiling.own().y.begin; y < tiling.own().y.end; ++y)
            ASSERT_EQ(tile.at(tiling.own().x.end, y), -7.0) << "wrote beyond the tile";
    }
}

/// Kernel that counts how often each point is own at each step.
struct OwnCount {
    OwnCount(int width, int height, int low_step, int steps)
        : nx(width), ny(height), low(low_step),
          own(static_cast<std::size_t>(width * height * steps)) {}

    void row(int step, const StencilRow& row) {
        if (row.own_begin < row.own_end && (row.own_begin < row.x_begin || row.own_end > row.x_end))
            ++outside;
        for (int x = row.own_begin; x < row.own_end; ++x)
            ++own[static_cast<std::size_t>(((step - low) * ny + (row.y + ny) % ny) * nx +
                                           (x + nx) % nx)];
        for (const Range reach : {Range{row.x_begin, row.x_end}})
            if (reach.begin < updated.x.begin || reach.end > updated.x.end ||
                row.y < updated.y.begin || row.y >= updated.y.end)
                ++outside;
        if (row.own_begin < row.own_end &&
            (row.own_begin < owned.x.begin || row.own_end > owned.x.end || row.y < owned.y.begin ||
             row.y >= owned.y.end))
            ++outside;
        for (int x = row.x_begin; x < row.x_end; ++x)
            row.out[x] = 0.25 * (row.below[x] + row.above[x] + row.here[x - 1] + row.here[x + 1]);
    }

    int nx, ny, low;
    Rect updated, owned;
    std::vector<std::atomic<int>> own;
    std::atomic<int> outside = 0;
};

TEST_P(EveryScheme, UpdatesEachPointOfEachStepAsOwnExactlyOnceOverAllRanks) {
    std::mt19937 random(22);
    for (int trial = 0; trial < 10; ++trial) {
        const Case one = random_case(random, scheme());
        SCOPED_TRACE(one.text());
        const Tiling tiling = one.tiling();
        Sweep sweep(tiling, one.options);
        const int steps = std::abs(one.last - one.first);
        const int low = std::min(one.first, one.last) + (one.last < one.first ? 1 : 0);
        OwnCount counts(one.nx, one.ny, low, steps);
        counts.updated = sweep.update_bounds();
        counts.owned = sweep.owned_bounds();
        Tile tile(Grid(one.nx, one.ny), tiling.own());
        sweep.run(tile.values.data(), tile.stride, one.first, one.last, counts);

        std::vector<int> all(counts.own.begin(), counts.own.end());
        MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_INT, MPI_SUM,
                      MPI_COMM_WORLD);
        EXPECT_EQ(counts.outside, 0);
        ASSERT_EQ(all, std::vector<int>(all.size(), 1));
    }
}

TEST_P(EveryScheme, DampsAnEigenmodeOfTheDiscreteOperatorByItsFactor) {
    for (const bool periodic : {false, true}) {
        const int n = 24 * ranks(), ny = 26;
        Case one;
        one.nx = n;
        one.ny = ny;
        one.x_tiles = ranks();
        one.periodic_x = one.periodic_y = periodic;
        one.options.scheme = GetParam();
        const Tiling tiling = one.tiling();
        one.options.block_steps = std::min(5, scheme().max_steps(tiling, 0));
        // cos(pi k (x + 1/2) / n) with mirrored edges, cos(2 pi k x / n) in a periodic domain.
        const double kx = (periodic ? 2.0 : 1.0) * std::numbers::pi * 3 / n;
        const double ky = (periodic ? 2.0 : 1.0) * std::numbers::pi * 2 / ny;
        const double shift = periodic ? 0.0 : 0.5;
        Grid mode(n, ny);
        for (int y = 0; y < ny; ++y)
            for (int x = 0; x < n; ++x)
                mode.at(x, y) = std::cos(kx * (x + shift)) * std::cos(ky * (y + shift));
        Heat heat{0.2};
        const double factor =
            1.0 - 0.2 * (4.0 * std::pow(std::sin(kx / 2), 2) + 4.0 * std::pow(std::sin(ky / 2), 2));

        Sweep sweep(tiling, one.options);
        Tile tile(mode, tiling.own());
        sweep.run(tile.values.data(), tile.stride, 0, 40, heat);
        for (int y = tile.own.y.begin; y < tile.own.y.end; ++y)
            for (int x = tile.own.x.begin; x < tile.own.x.end; ++x)
                ASSERT_NEAR(tile.at(x, y), std::pow(factor, 40) * mode.at(x, y), 1e-13);
    }
}

/// Kernel that records the own points of each step.
struct OwnPoints {
    void row(int step, const StencilRow& row) {
        for (int x = row.own_begin; x < row.own_end; ++x)
            points.insert({std::max(step, step + direction), row.y, x});
        for (int x = row.x_begin; x < row.x_end; ++x)
            row.out[x] = row.here[x];
    }
    int direction = 1;
    std::set<std::array<int, 3>> points;
};

TEST_P(EveryScheme, SweepsBackOverThePointsOfItsForwardSweep) {
    std::mt19937 random(5);
    for (int trial = 0; trial < 8; ++trial) {
        Case one = random_case(random, scheme());
        one.options.threads = 1;
        one.last = one.first + 1 + trial * 3;
        SCOPED_TRACE(one.text());
        const Tiling tiling = one.tiling();
        Sweep sweep(tiling, one.options);
        Tile tile(Grid(one.nx, one.ny), tiling.own());
        OwnPoints up{1, {}}, down{-1, {}};
        sweep.run(tile.values.data(), tile.stride, one.first, one.last, up);
        sweep.run(tile.values.data(), tile.stride, one.last, one.first, down);
        EXPECT_EQ(up.points, down.points);
    }
}

std::vector<std::string_view> names() {
    std::vector<std::string_view> all;
    for (const BlockingScheme& scheme : schemes())
        all.push_back(scheme.name);
    return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryScheme, testing::ValuesIn(names()),
                         [](const auto& scheme) { return std::string(scheme.param); });

} // namespace
} // namespace uzushio::stencil
