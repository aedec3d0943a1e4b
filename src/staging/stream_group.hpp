#pragma once

#include <mpi.h>

#include <string>

#include "parallel/collective_group.hpp"

namespace uzushio::staging {

/// Return the group of the ranks that open one side of a stream. Its errors are StagingError and
/// derived types. MPI_COMM_NULL: this process alone. Messages contain `name`.
[[nodiscard]] parallel::CollectiveGroup stream_group(MPI_Comm comm = MPI_COMM_NULL,
                                                     std::string name = "this stream");

} // namespace uzushio::staging
