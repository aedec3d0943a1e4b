// Halo exchange and redistribution on simulated ranks: a periodic cube of CELLS³ cells, one block a
// rank, and from the blocks to one slab a rank. Compile with SimGrid's smpicxx; see
// tests/scale/simulation.py.
//
//   smpirun ... halo CELLS
//
// Rank 0 prints the largest number of messages of a rank in an exchange, the number of wrong values
// on all ranks, and the microseconds of the exchange (the largest of all ranks).
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "domain/halo_exchange.hpp"
#include "domain/redistribution.hpp"

namespace {

using namespace uzushio;
using namespace uzushio::domain;

/// Return the value of a cell of the periodic cube.
double known(const Index<3>& cell, std::int64_t n) {
    double value = 0;
    for (std::size_t a = 0; a < 3; ++a)
        value = value * 1000 + static_cast<double>((cell[a] + n) % n);
    return value;
}

std::int64_t wrong_values(const View<const double>& view, std::int64_t n) {
    std::int64_t wrong = 0;
    for_indices(view.box(), [&](const Index<3>& cell) { wrong += view(cell) != known(cell, n); });
    return wrong;
}

void run(std::int64_t n) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Zone zone;
    zone.name = "cube";
    zone.cells = {n, n, n};
    zone.coordinates = Coordinates::uniform({0, 0, 0}, {1, 1, 1});
    const auto period = static_cast<double>(n);
    connect_periodic(zone, 0, {period, 0, 0});
    connect_periodic(zone, 1, {0, period, 0});
    connect_periodic(zone, 2, {0, 0, period});
    const auto mesh = std::make_shared<const Mesh>(3, std::vector{zone});
    const Decomposition blocks = Decomposition::cartesian(mesh, ranks);

    parallel::Traffic traffic;
    const FieldSpec spec{"u", 1, 2};
    Field<double> field(blocks, rank, spec);
    for_indices(field.owned(0),
                [&](const Index<3>& cell) { field.view(0)(cell) = known(cell, n); });
    HaloExchange<double> halo(MPI_COMM_WORLD, blocks, {spec}, Reach::corners, traffic);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = -MPI_Wtime();
    halo.exchange(field);
    seconds += MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    std::int64_t wrong = wrong_values(std::as_const(field).view(0), n);

    std::vector<Part> slabs;
    for (int r = 0; r < ranks; ++r)
        slabs.push_back({r, 0, {{0, 0, n * r / ranks}, {n, n, n * (r + 1) / ranks}}});
    Redistribution<double> redistribution(MPI_COMM_WORLD, {parts_of(blocks), slabs}, 1, traffic);
    const Box<3>& mine = slabs[static_cast<std::size_t>(rank)].box;
    std::vector<double> values(static_cast<std::size_t>(mine.volume()), -1);
    const View<const double> from = std::as_const(field).view(0);
    const View<double> to(values.data(), mine, 1);
    redistribution.run({&from, 1}, {&to, 1});
    wrong += wrong_values(to, n);

    std::int64_t messages = halo.messages();
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &messages, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("%d messages, %d wrong, %.3f us\n", static_cast<int>(messages),
                    static_cast<int>(wrong), 1e6 * seconds);
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int status = 1;
    try {
        run(argc > 1 ? std::atoi(argv[1]) : 32);
        status = 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    MPI_Finalize();
    return status;
}
