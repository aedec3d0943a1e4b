#include "compositing/machine.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "parallel/aligned_array.hpp"

namespace uzushio::compositing {

namespace {

constexpr int repeats = 5;
constexpr int tag = 1;
constexpr std::size_t pixels = 65536;
constexpr std::size_t layers = 4;

/// The least of some repetitions of what all ranks do together, in seconds, of the slowest rank.
template <class Work> double least(MPI_Comm comm, Work&& work) {
    double best = 0;
    for (int i = 0; i < repeats; ++i) {
        MPI_Barrier(comm);
        const double start = MPI_Wtime();
        work();
        double time = MPI_Wtime() - start;
        MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, comm);
        best = i == 0 ? time : std::min(best, time);
    }
    return best;
}

} // namespace

Machine measure(MPI_Comm comm, Format format) {
    int rank = 0, size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const std::size_t bytes = pixels * pixel_bytes(format);
    parallel::AlignedArray<std::byte> from(layers * bytes), to(bytes);

    Machine machine;
    // One to the right, one from the left: each rank has a message in and one out at a time.
    constexpr int rounds = 8;
    const auto ring = [&](std::size_t length) {
        return least(comm,
                     [&] {
                         for (int i = 0; i < rounds; ++i)
                             MPI_Sendrecv(from.data(), static_cast<int>(length), MPI_BYTE,
                                          (rank + 1) % size, tag, to.data(),
                                          static_cast<int>(length), MPI_BYTE,
                                          (rank + size - 1) % size, tag, comm, MPI_STATUS_IGNORE);
                     }) /
               rounds;
    };
    machine.latency = ring(1);
    const double large = ring(bytes);
    machine.bandwidth = static_cast<double>(bytes) / std::max(large - machine.latency, 1e-9);

    const auto& kernel = kernels(format);
    std::array<Source, layers> sources;
    for (std::size_t l = 0; l < layers; ++l)
        sources[l] = {from.data() + l * bytes, Width::narrow};
    const double blend =
        least(comm, [&] { kernel.blend(sources, pixels, to.data(), Width::narrow, 1); });
    machine.blending = static_cast<double>((layers + 1) * bytes) / std::max(blend, 1e-9);
    machine.meeting = least(comm, [&] { MPI_Barrier(comm); });
    return machine;
}

} // namespace uzushio::compositing
