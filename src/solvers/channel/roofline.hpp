#pragma once

#include "solvers/channel/solver.hpp"

namespace uzushio::channel {

/// Measure the seconds of one step's transforms through FFTW alone: as many rows and columns of the
/// same lengths, on one plane that stays in cache. All ranks measure at the same time. Return the
/// maximum over ranks of the minimum of `repeats` (collective).
[[nodiscard]] double fft_seconds(Solver& solver, int repeats);

/// Return the minimum of bytes that a step of one rank moves between memory and processor: each
/// field is read and written as few times as the scheme allows. Local.
[[nodiscard]] double min_bytes(const Solver& solver);

} // namespace uzushio::channel
