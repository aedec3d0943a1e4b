#pragma once

#include <mpi.h>

#include <cstddef>

namespace uzushio::parallel {

/// Measure STREAM's triad on arrays of `doubles` values, on all ranks at the same time. Return the
/// sum of the ranks' rates in bytes a second, each from the fastest of `repeats` (collective).
[[nodiscard]] double triad_rate(MPI_Comm comm, std::size_t doubles, int repeats);

/// Measure multiplications and additions of doubles in registers, on one thread of each rank, on
/// all ranks at the same time. Return the sum of the ranks' rates in operations a second, each from
/// the fastest of `repeats` of about 1 ms (collective).
[[nodiscard]] double flop_rate(MPI_Comm comm, int repeats);

} // namespace uzushio::parallel
