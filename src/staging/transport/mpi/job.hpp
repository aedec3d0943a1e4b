#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace uzushio::staging::mpi {

/// Throw StagingError unless MPI is initialised, and, with `threads`, supports MPI_THREAD_MULTIPLE.
/// `user` needs it.
void require_mpi(const std::string& user, bool threads);

/// Return the ranks of a communicator in MPI_COMM_WORLD, in its order. MPI_COMM_NULL: this process.
[[nodiscard]] std::vector<std::int32_t> world_ranks(MPI_Comm comm);

} // namespace uzushio::staging::mpi
