#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace uzushio::staging::mpi {

/// Throw StagingError unless MPI is there, for `who`; with `threads`, as MPI_THREAD_MULTIPLE.
void require_mpi(const std::string& who, bool threads);

/// Ranks in MPI_COMM_WORLD of all of a communicator's, in its order. MPI_COMM_NULL: this process.
[[nodiscard]] std::vector<std::int32_t> world_ranks(MPI_Comm comm);

} // namespace uzushio::staging::mpi
