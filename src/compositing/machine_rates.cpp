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

double memory_blending_rate(MPI_Comm comm) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    constexpr std::size_t bytes = std::size_t{1} << 26;
    parallel::AlignedArray<std::byte> front(bytes), back(bytes), to(bytes);
    const std::array<LayerPixels, 2> images{LayerPixels{front.data(), ChannelWidth::narrow},
                                            LayerPixels{back.data(), ChannelWidth::narrow}};
    const double seconds = min_time(comm, [&] {
        blend_kernels(ImageFormat::rgba8)
            .blend(images, bytes / 4, to.data(), ChannelWidth::narrow, 0);
    });
    return 3.0 * static_cast<double>(bytes) * size / seconds;
}

} // namespace uzushio::compositing
