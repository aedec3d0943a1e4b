// Compositing on simulated ranks: time of a picture by an algorithm, gathered at rank 0, on the
// platform of smpirun. Compile with SimGrid's smpicxx; see tests/scale/simulation.py.
//
//   smpirun ... compositing SIDE ALGORITHM [FAN_IN [PICTURES]]
//
// Rank 0 prints the simulated milliseconds of a picture and the sum of its bytes, which is the same
// for every algorithm.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "compositing/compositor.hpp"

namespace {

using uzushio::compositing::Compositor;
using uzushio::compositing::CompositorOptions;
using uzushio::compositing::Rgba8;

int run(const CompositorOptions& options, int pictures) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Compositor compositor(MPI_COMM_WORLD, options);
    // Opacities of 0 or 1 only: the sum does not depend on rounding.
    std::vector<Rgba8> image(static_cast<std::size_t>(options.width * options.height));
    for (std::size_t i = 0; i < image.size(); ++i) {
        const auto value =
            static_cast<std::uint8_t>((i * 31 + static_cast<std::size_t>(rank)) % 251);
        const bool opaque = (i + static_cast<std::size_t>(rank)) % static_cast<std::size_t>(ranks) <
                            static_cast<std::size_t>(ranks + 1) / 2;
        image[i] = opaque ? Rgba8{value, value, 7, 255} : Rgba8{1, 0, 0, 0};
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    std::uint64_t sum = 0;
    for (int picture = 0; picture < pictures; ++picture) {
        compositor.submit(std::span<const Rgba8>(image));
        const auto result = compositor.finish();
        for (const auto& pixel : result.as<Rgba8>())
            sum += pixel.r + pixel.g + pixel.b + pixel.a;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    const double time = (MPI_Wtime() - start) / pictures;
    if (rank == 0)
        std::printf("%d %s %.6f ms, sum %llu\n", ranks, options.algorithm.c_str(), 1e3 * time,
                    static_cast<unsigned long long>(sum / static_cast<std::uint64_t>(pictures)));
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int status = 1;
    if (argc >= 3) {
        CompositorOptions options;
        options.width = options.height = std::atoi(argv[1]);
        options.algorithm = argv[2];
        options.frames = 1;
        options.limit = 0; // each read of the clock is an event of its own
        if (argc > 3)
            options.fan_in = std::atoi(argv[3]);
        try {
            status = run(options, argc > 4 ? std::atoi(argv[4]) : 2);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
        }
    }
    MPI_Finalize();
    return status;
}
