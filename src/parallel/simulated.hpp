#pragma once

#include <mpi.h>

namespace uzushio::parallel {

/// Whether MPI is SimGrid's simulator, where each poll is an event of its own: waits then block in
/// MPI, and polls are left out.
#if defined(SMPI_H) || defined(MPI_SMPI)
inline constexpr bool simulated = true;
#else
inline constexpr bool simulated = false;
#endif

} // namespace uzushio::parallel
