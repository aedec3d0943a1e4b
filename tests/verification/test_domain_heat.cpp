// Heat equation by `domain`, compared with Bessel modes in a cylinder.
// ranks: 1 7
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "parallel/communicator.hpp"
#include "support/heat_solver.hpp"

namespace uzushio::domain {
namespace {

/// Return the values of all cells by zone and index on all ranks of `comm`.
std::vector<double> gather(MPI_Comm comm, const Decomposition& decomposition, int rank,
                           Field<double>& u) {
    std::vector<double> all(static_cast<std::size_t>(decomposition.mesh().cells()), 0.0);
    for (std::size_t b = 0; b < u.blocks(); ++b) {
        const Block& block = decomposition.block(decomposition.blocks_of(rank)[b]);
        std::int64_t begin = 0;
        for (int z = 0; z < block.zone; ++z)
            begin += Box<3>::of(decomposition.mesh().zone(z).cells).volume();
        const Index<3>& cells = decomposition.mesh().zone(block.zone).cells;
        for_indices(u.owned(b), [&](const Index<3>& at) {
            all[static_cast<std::size_t>(begin + at[0] + cells[0] * (at[1] + cells[1] * at[2]))] =
                u.view(b)(at);
        });
    }
    MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_SUM,
                  comm);
    return all;
}

struct Result {
    std::vector<double> values;
    double error = 0; ///< root of the mean square, relative to that of the solution
    double volume = 0;
};

Result run(MPI_Comm comm, std::int64_t n, std::int64_t nz, int steps, double end) {
    HeatSolver solver(n, nz);
    solver.set_up(comm);
    solver.begin();
    for (int i = 0; i < steps; ++i)
        solver.step(end / steps, std::numeric_limits<double>::infinity());
    Field<double>& u = solver.field("u");
    std::array<double, 3> sums{};
    for (std::size_t b = 0; b < u.blocks(); ++b)
        for_indices(u.owned(b), [&](const Index<3>& at) {
            const double truth =
                HeatSolver::exact(HeatSolver::vector(solver.block(b).centres(), at), end);
            const double volume = std::abs(solver.volume(b, at));
            sums[0] += volume * std::pow(u.view(b)(at) - truth, 2);
            sums[1] += volume * truth * truth;
            sums[2] += volume;
        });
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 3, MPI_DOUBLE, MPI_SUM, comm);
    return {gather(comm, solver.decomposition(), solver.rank(), u), std::sqrt(sums[0] / sums[1]),
            sums[2]};
}

int world_size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

TEST(HeatEquation, ConvergesWithSecondOrderOnFiveBlocksInACylinder) {
    if (world_size() > 1)
        GTEST_SKIP() << "the same on any number of ranks";
    constexpr double end = 0.01;
    double before = 0, n_before = 0;
    for (const std::int64_t n : {4, 8, 12}) {
        const auto steps = static_cast<int>(5 * n * n / 16);
        const Result result = run(MPI_COMM_WORLD, n, n, steps, end);
        const auto cells = static_cast<double>(n);
        const double order = std::log(before / result.error) / std::log(cells / n_before);
        std::printf("n = %2.0f: error %.3e, order %.2f\n", cells, result.error,
                    before > 0 ? order : 0.0);
        if (before > 0) {
            EXPECT_GT(order, 1.85);
        }
        EXPECT_NEAR(result.volume, std::numbers::pi, 2 / (cells * cells));
        before = result.error;
        n_before = cells;
    }
    EXPECT_LT(before, 0.02);
}

TEST(HeatEquation, HasTheSameBitsOn1To7Ranks) {
    constexpr int steps = 5;
    std::vector<double> alone;
    const parallel::Communicator world = parallel::Communicator::duplicate(MPI_COMM_WORLD);
    for (int size = 1; size <= world.size(); ++size) {
        const bool part = world.rank() < size;
        const auto comm = parallel::Communicator::split(world.get(), part ? 0 : 1, world.rank());
        if (!part)
            continue;
        const Result result = run(comm.get(), 6, 5, steps, 0.01);
        if (size == 1)
            alone = result.values;
        if (world.rank() == 0) {
            EXPECT_EQ(std::memcmp(result.values.data(), alone.data(), 8 * alone.size()), 0)
                << "on " << size << " ranks";
            EXPECT_GT(*std::max_element(alone.begin(), alone.end()), 0.1);
        }
    }
}

} // namespace
} // namespace uzushio::domain
