#pragma once

#include <mpi.h>

#include "compositing/image.hpp"

namespace uzushio::compositing {

/// Rates of the ranks of a job, measured while all ranks are busy. The same on all ranks.
struct MachineRates {
    double latency = 0;   ///< seconds per message, besides its bytes
    double bandwidth = 0; ///< bytes a second, into or out of a rank
    double blending = 0;  ///< bytes a second that a rank reads and writes while it blends
    double barrier = 0;   ///< seconds of a barrier
};

/// Measure the rates (collective; some milliseconds). All ranks exchange messages with neighbours,
/// then blend images of this shape; a time ends when the last rank has finished.
[[nodiscard]] MachineRates measure_rates(MPI_Comm comm, const ImageShape& shape);

/// Bytes a second that all ranks together move, to and from memory outside the caches.
struct MemoryRates {
    double triad = 0;    ///< STREAM's triad: two arrays are read, one is written
    double blending = 0; ///< two images are read, one is written
};

/// Measure both in turn, each until the last rank has finished (collective; about a second).
[[nodiscard]] MemoryRates measure_memory_rates(MPI_Comm comm);

} // namespace uzushio::compositing
