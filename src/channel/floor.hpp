#pragma once

#include <cstddef>

#include "channel/solver.hpp"

namespace uzushio::channel {

/// Seconds that the transforms of one step take through FFTW alone: the same number of rows and
/// columns of the same lengths, on one plane that stays in cache, and nothing else. Measured on all
/// ranks at a time; the slowest rank's best of `repeats` (collective).
[[nodiscard]] double fft_seconds(Solver& solver, int repeats);

/// Bytes that one rank's step must move between memory and processor if every field is read and
/// written as seldom as the scheme allows.
[[nodiscard]] double least_bytes(const Solver& solver);

/// Rate in bytes a second of STREAM's triad on arrays of `doubles`, all ranks at a time: the sum
/// of what each moves in its own best of `repeats` (collective).
[[nodiscard]] double triad_rate(MPI_Comm comm, std::size_t doubles, int repeats);

} // namespace uzushio::channel
