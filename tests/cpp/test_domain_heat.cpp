// A solver made of the room's parts alone, against the modes of Bessel functions in a cylinder.
// ranks: 1 7
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "parallel/communicator.hpp"
#include "support/cylinder_mesh.hpp"
#include "support/heat_solver.hpp"

namespace uzushio::domain {
namespace {

constexpr double zero_of_j1 = 3.8317059702075123;

/// Mode of order 1 around the axis, with one wave along z.
double exact(const Vector& at, double time) {
    const double radius = std::hypot(at[0], at[1]), wave = 2 * std::numbers::pi;
    if (radius == 0)
        return 0;
    const double decay = zero_of_j1 * zero_of_j1 + wave * wave;
    return std::cyl_bessel_j(1, zero_of_j1 * std::min(radius, 1.0)) * (at[0] - 0.5 * at[1]) /
           radius * std::cos(wave * at[2] + 0.3) * std::exp(-decay * time);
}

/// Values of all cells by zone and index, the same on all ranks of `comm`.
std::vector<double> gather(MPI_Comm comm, const Decomposition& decomposition, int rank,
                           Field<double>& u) {
    std::vector<double> all(static_cast<std::size_t>(decomposition.mesh().cells()), 0.0);
    for (std::size_t b = 0; b < u.blocks(); ++b) {
        const Block& block = decomposition.block(decomposition.blocks_of(rank)[b]);
        std::int64_t begin = 0;
        for (int z = 0; z < block.zone; ++z)
            begin += Box<3>::of(decomposition.mesh().zone(z).cells).volume();
        const Index<3>& cells = decomposition.mesh().zone(block.zone).cells;
        HeatSolver::for_cells(u.owned(b), [&](const Index<3>& at) {
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
    int rank = 0, size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const auto decomposition = Decomposition::multiblock(cylinder_mesh(n, nz), size, 1.2);
    HeatSolver solver(comm, decomposition, rank);
    solver.set([](const Vector& at) { return exact(at, 0); });
    for (int i = 0; i < steps; ++i)
        solver.step(end * i / steps, end / steps);
    std::array<double, 3> sums{};
    for (std::size_t b = 0; b < solver.u().blocks(); ++b)
        HeatSolver::for_cells(solver.u().owned(b), [&](const Index<3>& at) {
            const auto x = solver.centres().view(b);
            const double truth = exact({x(at, 0), x(at, 1), x(at, 2)}, end);
            const double volume = std::abs(solver.volume(b, at));
            sums[0] += volume * std::pow(solver.u().view(b)(at) - truth, 2);
            sums[1] += volume * truth * truth;
            sums[2] += volume;
        });
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 3, MPI_DOUBLE, MPI_SUM, comm);
    return {gather(comm, decomposition, rank, solver.u()), std::sqrt(sums[0] / sums[1]), sums[2]};
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
