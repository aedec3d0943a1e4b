// Rejected options, with one message on all ranks; margins; sums independent of ranks.
// ranks: 1 3 4
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "parallel/compensated_sum.hpp"
#include "stencil/dot.hpp"
#include "stencil/sweep.hpp"

namespace uzushio::stencil {
namespace {

using parallel::CompensatedSum;
using parallel::DoubleDouble;

int ranks() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

int rank() {
    int number = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    return number;
}

/// Return the message of the error that `call` throws; empty if it does not throw.
std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return {};
}

std::string error_of(const Tiling& tiling, const SweepOptions& options) {
    return error_of([&] { const Sweep sweep(tiling, options); });
}

void expect_contains(const std::string& text, const std::string& part) {
    int found = text.find(part) != std::string::npos ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    EXPECT_EQ(found, 1) << '"' << text << "\" does not contain \"" << part << "\" on all ranks";
}

TEST(SweepOptions, ThatNeedLargerTilesAreRejectedWithTheMaximum) {
    const Tiling tiling(MPI_COMM_WORLD, 40 * ranks() + 1, 40, ranks(), 1, true, true);
    SweepOptions options;
    options.block_steps = 41;
    for (const std::string scheme : {"pa1", "pa2"}) {
        options.scheme = scheme;
        expect_contains(error_of(tiling, options), "is 40");
    }
    options.scheme = "diamond";
    expect_contains(error_of(tiling, options), "is 20");
    options.scheme = "plain";
    expect_contains(error_of(tiling, options), "is 1");
    // The maximum is accepted.
    options.scheme = "diamond";
    options.block_steps = 20;
    EXPECT_EQ(error_of(tiling, options), "");
    options.scheme = "pa1";
    options.margin = 30;
    expect_contains(error_of(tiling, options), "is 10");
    options.block_steps = 10;
    EXPECT_EQ(error_of(tiling, options), "");
}

TEST(SweepOptions, OutOfRangeAreRejected) {
    const Tiling tiling(MPI_COMM_WORLD, 60, 40, ranks(), 1, false, false);
    SweepOptions options;
    options.scheme = "pa3";
    expect_contains(error_of(tiling, options), "available schemes are plain, pa1, pa2, diamond");
    options.scheme = "pa2";
    options.margin = 1;
    expect_contains(error_of(tiling, options), "margin must be 0");
    options = {};
    options.block_steps = 0;
    expect_contains(error_of(tiling, options), "block_steps is 0; it must be at least 1");
    options = {};
    options.threads = 0;
    expect_contains(error_of(tiling, options), "threads is 0");
}

TEST(Tiles, ThatAreNotOnePerRankAreRejected) {
    const auto tiles = [](int nx, int ny, int x, int y) {
        return error_of([&] { const Tiling tiling(MPI_COMM_WORLD, nx, ny, x, y, false, false); });
    };
    expect_contains(tiles(50, 50, ranks() + 1, 1), "does not divide the");
    expect_contains(tiles(50, 50, ranks(), 2), ranks() % 2 == 0 ? "each needs one tile" : "divide");
    expect_contains(tiles(50, 50, 0, 1), "at least 1");
    expect_contains(tiles(0, 50, 1, ranks()), "each axis needs at least 1");
}

/// Kernel that records the distance from the tile of the updates of a step.
struct Reach {
    void row(int step, const StencilRow& row) {
        if (row.y == y && step == at)
            x_begin = std::min(x_begin, row.x_begin);
        for (int x = row.x_begin; x < row.x_end; ++x)
            row.out[x] = row.here[x];
    }
    int y, at;
    int x_begin = std::numeric_limits<int>::max();
};

TEST(Margin, IsCurrentAtEveryStepOfABlock) {
    const Tiling tiling(MPI_COMM_WORLD, 40 * ranks(), 40, ranks(), 1, true, false);
    SweepOptions options;
    options.block_steps = 4;
    options.margin = 3;
    Sweep sweep(tiling, options);
    const Rect own = tiling.own();
    std::vector<double> tile(static_cast<std::size_t>(own.points()));
    for (int step = 0; step < 8; ++step) {
        Reach reach{20, step};
        sweep.run(tile.data(), own.x.size(), 0, 8, reach);
        // The margin and the halo of the block's remaining steps.
        EXPECT_EQ(reach.x_begin, own.x.begin - 3 - (3 - step % 4));
    }
}

TEST(CompensatedSum, KeepsDigitsThatAPlainSumLoses) {
    CompensatedSum sum;
    const std::vector<double> terms{1e30, 1.0, -1e30, 1e-20, 3.0, -1e-20, 0.5};
    sum.add(0, static_cast<int>(terms.size()),
            [&](int i) { return terms[static_cast<std::size_t>(i)]; });
    EXPECT_EQ(sum.value(), 4.5);
    EXPECT_EQ((1e30 + 1.0) - 1e30, 0.0);
}

TEST(CompensatedSum, IsTheSameHoweverItsTermsAreCutAndOrdered) {
    std::mt19937 random(3);
    std::lognormal_distribution<double> sizes(0.0, 6.0);
    std::vector<double> terms(10007);
    for (double& term : terms)
        term = sizes(random) * (random() % 2 == 0 ? 1.0 : -1.0);
    const auto of = [&](int i) { return terms[static_cast<std::size_t>(i)] * 1.1; };
    CompensatedSum all;
    all.add(0, 10007, of);

    CompensatedSum one_by_one;
    for (int i = 10006; i >= 0; --i)
        one_by_one.add(of(i));
    EXPECT_EQ(one_by_one.value(), all.value());

    for (const int length : {1, 3, 8, 100, 1001}) {
        // Pieces are distributed cyclically.
        CompensatedSum mine;
        for (int begin = length * rank(); begin < 10007; begin += length * ranks())
            mine.add(begin, std::min(begin + length, 10007), of);
        EXPECT_EQ(sum_over_ranks(mine, MPI_COMM_WORLD), all.value()) << length;
    }
}

TEST(DotProduct, IsTheSumOfItsProductsWithTheirErrors) {
    std::mt19937 random(4);
    std::lognormal_distribution<double> sizes(0.0, 6.0);
    std::vector<double> a(1003), b(1003);
    CompensatedSum sum;
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = sizes(random) * (random() % 2 == 0 ? 1.0 : -1.0);
        b[i] = sizes(random);
        const double product = a[i] * b[i];
        sum.add(product);
        sum.add(std::fma(a[i], b[i], -product));
    }
    const DoubleDouble dotted = dot(a.data(), b.data(), a.size());
    EXPECT_EQ(dotted.high, sum.folded().high);
    EXPECT_NEAR(dotted.low, sum.folded().low, 1e-12 * std::abs(sum.folded().low));
}

TEST(CompensatedSum, OfANonFiniteTermIsNotFinite) {
    CompensatedSum sum;
    sum.add(1.0);
    sum.add(std::numeric_limits<double>::infinity());
    EXPECT_FALSE(std::isfinite(sum_over_ranks(sum, MPI_COMM_WORLD)));
}

} // namespace
} // namespace uzushio::stencil
