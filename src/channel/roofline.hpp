#pragma once

#include <cstddef>

#include "channel/solver.hpp"

namespace uzushio::channel {

/// Measure the seconds of one step's transforms through FFTW alone: as many rows and columns of the
/// same lengths, on one plane that stays in cache. All ranks measure at the same time. Return the
/// maximum over ranks of the minimum of `repeats` (collective).
[[nodiscard]] double fft_seconds(Solver& solver, int repeats);

/// Return the minimum of bytes that a step of one rank moves between memory and processor: each
/// field is read and written as few times as the scheme allows. Local.
[[nodiscard]] double min_bytes(const Solver& solver);

/// Measure STREAM's triad on arrays of `doubles` values, on all ranks at the same time. Return the
/// sum of the ranks' rates in bytes a second, each from the fastest of `repeats` (collective).
[[nodiscard]] double triad_rate(MPI_Comm comm, std::size_t doubles, int repeats);

} // namespace uzushio::channel
