#include "compositing/machine.hpp"

#include <algorithm>
#include <array>

#include "compositing/tags.hpp"
#include "parallel/aligned_array.hpp"

namespace uzushio::compositing {

namespace {

constexpr int repeats = 5;
constexpr int most_pixels = 1 << 18; // of an image that is blended
constexpr std::size_t message_bytes = 1 << 18;
constexpr std::size_t layers = 4;

/// Seconds until all ranks have done some work: ranks that share processors or memory slow each
/// other down, however fast each of them is while it runs. The least of some repetitions.
template <class Work> double least(MPI_Comm comm, Work&& work) {
    double best = 0;
    for (int i = 0; i < repeats; ++i) {
        MPI_Barrier(comm);
        const double start = MPI_Wtime();
        work();
        MPI_Barrier(comm);
        double time = MPI_Wtime() - start;
        MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, comm);
        best = i == 0 ? time : std::min(best, time);
    }
    return best;
}

} // namespace

Machine measure(MPI_Comm comm, const Shape& shape) {
    int rank = 0, size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const auto pixels = static_cast<std::size_t>(std::min(shape.pixels(), most_pixels));
    const std::size_t bytes = pixels * shape.bytes();
    const std::size_t room = std::max(bytes, message_bytes);
    parallel::AlignedArray<std::byte> from(std::max(layers * bytes, room)), to(room);

    Machine machine;
    machine.meeting = least(comm, [] {});
    const auto seconds = [&](double measured) {
        return std::max(measured - machine.meeting, 1e-9);
    };
    // One to the right, one from the left: each rank has a message in and one out at a time.
    const auto ring = [&](std::size_t length, int rounds) {
        return seconds(least(comm,
                             [&] {
                                 for (int i = 0; i < rounds; ++i)
                                     MPI_Sendrecv(from.data(), static_cast<int>(length), MPI_BYTE,
                                                  (rank + 1) % size, Tags::measure, to.data(),
                                                  static_cast<int>(length), MPI_BYTE,
                                                  (rank + size - 1) % size, Tags::measure, comm,
                                                  MPI_STATUS_IGNORE);
                             })) /
               rounds;
    };
    machine.latency = ring(1, 16);
    machine.bandwidth = static_cast<double>(message_bytes) /
                        std::max(ring(message_bytes, 2) - machine.latency, 1e-9);

    std::array<Source, layers> sources;
    for (std::size_t l = 0; l < layers; ++l)
        sources[l] = {from.data() + l * bytes, Width::narrow};
    const auto& kernel = kernels(shape.format);
    const double blend = seconds(
        least(comm, [&] { kernel.blend(sources, pixels, to.data(), Width::narrow, shape.far); }));
    machine.blending = static_cast<double>((layers + 1) * bytes) / blend;
    return machine;
}

Rates memory_rates(MPI_Comm comm) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    constexpr std::size_t bytes = std::size_t{1} << 26;
    constexpr std::size_t doubles = bytes / sizeof(double);
    parallel::AlignedArray<double> a(doubles), b(doubles), c(doubles);
    const auto triad = [&] {
        const double* const from = a.data();
        const double* const other = b.data();
        double* const to = c.data();
        for (std::size_t i = 0; i < doubles; ++i)
            to[i] = from[i] + 3 * other[i];
    };
    const auto pixels = [](auto& array) { return reinterpret_cast<std::byte*>(array.data()); };
    const std::array<Source, 2> layers{Source{pixels(a), Width::narrow},
                                       Source{pixels(b), Width::narrow}};
    const auto blend = [&] {
        kernels(Format::rgba8).blend(layers, bytes / 4, pixels(c), Width::narrow, 0);
    };
    const double moved = 3.0 * static_cast<double>(bytes) * size;
    Rates rates;
    for (int turn = 0; turn < 3; ++turn) {
        rates.triad = std::max(rates.triad, moved / least(comm, triad));
        rates.blending = std::max(rates.blending, moved / least(comm, blend));
    }
    return rates;
}

} // namespace uzushio::compositing
