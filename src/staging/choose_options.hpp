#pragma once

#include <mpi.h>

#include <filesystem>

#include "staging/engine_options.hpp"

namespace uzushio::staging {

/// The options of the YAML file `file`; of the one that the environment variable UZUSHIO_STAGING
/// names instead, if that is set and not empty; the defaults if neither is. So a job is switched to
/// another engine without touching the code or its input.
///
/// Collective over `comm` (MPI_COMM_NULL: this process alone): rank 0 alone looks at its
/// environment and reads. Throws StagingError on all ranks.
[[nodiscard]] EngineOptions choose_options(const std::filesystem::path& file, MPI_Comm comm);

} // namespace uzushio::staging
