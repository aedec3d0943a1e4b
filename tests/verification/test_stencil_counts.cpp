// Messages and updates of the schemes of time blocking, against closed forms.
// ranks: 1 4 6
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "stencil/sweep.hpp"

namespace uzushio::stencil {
namespace {

int ranks() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

struct Copy {
    void row(int /*step*/, const StencilRow& row) const {
        for (int x = row.x_begin; x < row.x_end; ++x)
            row.out[x] = row.here[x];
    }
};

constexpr int x_tiles(int ranks) { return ranks == 6 ? 3 : ranks == 4 ? 2 : 1; }

/// Return this rank's counters after `steps` steps on a periodic domain of equal tiles.
SweepCounters counted(const std::string& scheme, int width, int height, int block_steps, int steps,
                      bool overlap = true) {
    const int across = x_tiles(ranks()), up = ranks() / across;
    const Tiling tiling(MPI_COMM_WORLD, width * across, height * up, across, up, true, true);
    SweepOptions options;
    options.scheme = scheme;
    options.block_steps = block_steps;
    options.overlap = overlap;
    Sweep sweep(tiling, options);
    std::vector<double> tile(static_cast<std::size_t>(width * height));
    Copy copy;
    sweep.run(tile.data(), width, 0, steps, copy);
    return sweep.counters();
}

/// Return whether all neighbours are other ranks, so that all messages count: with 4 and 6 ranks.
bool all_are_others() { return ranks() > 1; }

/// Return equation (7) of Ikeda et al., with n = xtail + ytail - xhead - yhead.
std::int64_t equation_7(std::int64_t fblt, std::int64_t n) {
    return (2 * fblt * fblt * fblt - 2 * fblt) / 3 + fblt * fblt * n - fblt * n;
}

TEST(CountsOfPa1, AreThoseOfThePublishedExample) {
    // Tiles of 200 x 12 points, 128 steps, blocks of 8 (Ikeda et al.).
    const SweepCounters blocked = counted("pa1", 200, 12, 8, 128);
    const SweepCounters plain = counted("plain", 200, 12, 1, 128);
    EXPECT_EQ(blocked.blocks, 16);
    EXPECT_EQ(blocked.redundant, 16 * 12096);
    EXPECT_EQ(blocked.points, 500736);
    EXPECT_EQ(plain.points, 307200);
    EXPECT_EQ(plain.redundant, 0);
    if (all_are_others()) {
        EXPECT_EQ(blocked.messages, 64);
        EXPECT_EQ(plain.messages, 512);
    }
}

TEST(CountsOfPa1, FollowEquation7AndSendTheWholeHaloOnce) {
    for (const bool overlap : {false, true})
        for (const int steps : {1, 2, 3, 5, 8, 12, 20}) {
            const int width = 31, height = 20;
            const SweepCounters one = counted("pa1", width, height, steps, steps, overlap);
            EXPECT_EQ(one.redundant, equation_7(steps, width - 1 + height - 1)) << steps;
            if (all_are_others()) {
                const int corners = steps > 1 ? 4 * steps * steps : 0;
                EXPECT_EQ(one.bytes, 8 * (2 * steps * (width + height) + corners)) << steps;
                EXPECT_EQ(one.messages, 4);
            }
        }
}

/// Return the points of a right triangle with legs of `n - 1` points.
std::int64_t triangle(std::int64_t n) { return n > 1 ? n * (n - 1) / 2 : 0; }

/// Return the redundant points of a block of PA2 on tiles of at least two blocks. Beyond a side,
/// level k is computed in a strip of min(k, b - k) points, and b - k near its ends, where the
/// neighbour's own neighbours limit its independent points; beyond a corner, in the triangle of PA1
/// without the independent points of the tile there.
std::int64_t redundant_of_pa2(std::int64_t width, std::int64_t height, std::int64_t b) {
    std::int64_t sum = 0;
    for (std::int64_t k = 1; k <= b; ++k)
        sum += 2 * (width + height) * std::min(k, b - k) +
               8 * k * std::max<std::int64_t>(0, b - 2 * k) +
               4 * (triangle(b - k) - triangle(b - 3 * k));
    return sum;
}

TEST(CountsOfPa2, AreAboutHalfOfPa1sPointsForTheSameBytes) {
    for (const bool overlap : {false, true})
        for (const int steps : {1, 2, 3, 5, 8, 12, 16}) {
            const int width = 70, height = 41;
            const SweepCounters one = counted("pa2", width, height, steps, steps, overlap);
            EXPECT_EQ(one.redundant, redundant_of_pa2(width, height, steps)) << steps;
            if (all_are_others()) {
                EXPECT_EQ(one.messages, 4);
                EXPECT_LE(
                    static_cast<double>(one.bytes),
                    1.02 * static_cast<double>(counted("pa1", width, height, steps, steps).bytes))
                    << steps;
            }
        }
    // Over a long border b^2 / 4 of level after level against b (b - 1) / 2.
    const double ratio = static_cast<double>(counted("pa2", 2000, 64, 32, 32).redundant) /
                         static_cast<double>(counted("pa1", 2000, 64, 32, 32).redundant);
    EXPECT_NEAR(ratio, 0.5, 0.03);
}

TEST(CountsOfDiamond, AreNoRedundantPointsAndThreeMessagesABlock) {
    const int width = 40, height = 33, steps = 8;
    for (const int blocks : {2, 4}) {
        const SweepCounters one = counted("diamond", width, height, steps, blocks * steps);
        EXPECT_EQ(one.redundant, 0);
        EXPECT_EQ(one.points, width * height * blocks * steps);
        if (all_are_others()) {
            EXPECT_EQ(one.messages, 3 * blocks);
        }
    }
    if (all_are_others()) {
        // Two more return the tiles after an odd number of blocks.
        EXPECT_EQ(counted("diamond", width, height, steps, 3 * steps).messages, 3 * 3 + 2);
    }
}

TEST(CountsOfEveryScheme, WithoutRedundantPointsAreTheDomainTimesTheSteps) {
    for (const BlockingScheme& scheme : schemes()) {
        const Tiling tiling(MPI_COMM_WORLD, 101, 83, x_tiles(ranks()), ranks() / x_tiles(ranks()),
                            false, true);
        SweepOptions options;
        options.scheme = scheme.name;
        options.block_steps = std::min(6, scheme.max_steps(tiling, 0));
        Sweep sweep(tiling, options);
        std::vector<double> tile(static_cast<std::size_t>(tiling.own().points()));
        Copy copy;
        sweep.run(tile.data(), tiling.own().x.size(), 0, 20, copy);
        std::int64_t own = sweep.counters().points - sweep.counters().redundant;
        MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        EXPECT_EQ(own, 101 * 83 * 20) << scheme.name;
    }
}

} // namespace
} // namespace uzushio::stencil
