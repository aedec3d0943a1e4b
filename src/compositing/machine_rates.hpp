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

/// Measure the bytes a second that all ranks together move while they blend two images into one, to
/// and from memory outside the caches, until the last rank has finished (collective; about half a
/// second).
[[nodiscard]] double memory_blending_rate(MPI_Comm comm);

} // namespace uzushio::compositing
