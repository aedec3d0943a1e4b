#pragma once

#include <mpi.h>

#include "compositing/image.hpp"

namespace uzushio::compositing {

/// What the ranks of a job can do, all of them at the same time: rates that include what they take
/// from each other. The same on all ranks.
struct Machine {
    double latency = 0;   ///< seconds for a message, besides its bytes
    double bandwidth = 0; ///< bytes a second, into or out of a rank
    double blending = 0;  ///< bytes a second that a rank reads and writes while it blends
    double meeting = 0;   ///< seconds until the last rank of a node knows that all are there
};

/// Measure (collective; some milliseconds). Every rank exchanges messages with neighbours, and
/// blends images of this shape, while all others do, and the time until all are done counts.
[[nodiscard]] Machine measure(MPI_Comm comm, const Shape& shape);

/// Bytes a second that all ranks together move, from memory that no cache holds.
struct Rates {
    double triad = 0;    ///< STREAM's triad: two arrays are read, one is written
    double blending = 0; ///< two images are read, one is written
};

/// Measure both in turn, each until the last rank is done (collective; about a second).
[[nodiscard]] Rates memory_rates(MPI_Comm comm);

} // namespace uzushio::compositing
