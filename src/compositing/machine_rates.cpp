#include "compositing/machine_rates.hpp"

#include <algorithm>
#include <array>

#include "compositing/blend_kernels.hpp"
#include "compositing/message_tags.hpp"
#include "parallel/aligned_array.hpp"

namespace uzushio::compositing {

namespace {

constexpr int repeats = 5;
constexpr int max_pixels = 1 << 18; // of an image that is blended
constexpr std::size_t message_bytes = 1 << 18;
constexpr std::size_t layers = 4;

/// Return the minimum of the seconds until the last rank has done some work: ranks that share
/// processors or memory slow each other down.
template <class Work> double min_time(MPI_Comm comm, Work&& work) {
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

MachineRates measure_rates(MPI_Comm comm, const ImageShape& shape) {
    int rank = 0, size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const auto pixels = static_cast<std::size_t>(std::min(shape.pixels(), max_pixels));
    const std::size_t bytes = pixels * shape.bytes();
    const std::size_t room = std::max(bytes, message_bytes);
    parallel::AlignedArray<std::byte> from(std::max(layers * bytes, room)), to(room);

    MachineRates machine;
    machine.barrier = min_time(comm, [] {});
    const auto seconds = [&](double measured) {
        return std::max(measured - machine.barrier, 1e-9);
    };
    // Send to the right, receive from the left: each rank has a message in and one out at a time.
    const auto ring = [&](std::size_t length, int rounds) {
        return seconds(min_time(comm,
                                [&] {
                                    for (int i = 0; i < rounds; ++i)
                                        MPI_Sendrecv(from.data(), static_cast<int>(length),
                                                     MPI_BYTE, (rank + 1) % size,
                                                     MessageTags::measure, to.data(),
                                                     static_cast<int>(length), MPI_BYTE,
                                                     (rank + size - 1) % size, MessageTags::measure,
                                                     comm, MPI_STATUS_IGNORE);
                                })) /
               rounds;
    };
    machine.latency = ring(1, 16);
    machine.bandwidth = static_cast<double>(message_bytes) /
                        std::max(ring(message_bytes, 2) - machine.latency, 1e-9);

    std::array<LayerPixels, layers> sources;
    for (std::size_t l = 0; l < layers; ++l)
        sources[l] = {from.data() + l * bytes, ChannelWidth::narrow};
    const auto& kernel = blend_kernels(shape.format);
    const double blend = seconds(min_time(
        comm, [&] { kernel.blend(sources, pixels, to.data(), ChannelWidth::narrow, shape.far); }));
    machine.blending = static_cast<double>((layers + 1) * bytes) / blend;
    return machine;
}

MemoryRates measure_memory_rates(MPI_Comm comm) {
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
    const std::array<LayerPixels, 2> layers{LayerPixels{pixels(a), ChannelWidth::narrow},
                                            LayerPixels{pixels(b), ChannelWidth::narrow}};
    const auto blend = [&] {
        blend_kernels(ImageFormat::rgba8)
            .blend(layers, bytes / 4, pixels(c), ChannelWidth::narrow, 0);
    };
    const double moved = 3.0 * static_cast<double>(bytes) * size;
    MemoryRates rates;
    for (int turn = 0; turn < 3; ++turn) {
        rates.triad = std::max(rates.triad, moved / min_time(comm, triad));
        rates.blending = std::max(rates.blending, moved / min_time(comm, blend));
    }
    return rates;
}

} // namespace uzushio::compositing
