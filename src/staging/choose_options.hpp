#pragma once

#include <mpi.h>

#include <filesystem>

#include "staging/engine_options.hpp"

namespace uzushio::staging {

/// Read the options of the YAML file `file`, or of the file in the environment variable
/// UZUSHIO_STAGING if it is set and not empty; the defaults if there is neither. The variable
/// selects another engine without changes to the code or its input. `on_error` is `warn` unless the
/// file sets it.
///
/// Collective over `comm` (MPI_COMM_NULL: this process alone): only rank 0 reads its
/// environment and the file. Throws StagingError on all ranks.
[[nodiscard]] EngineOptions choose_options(const std::filesystem::path& file, MPI_Comm comm);

} // namespace uzushio::staging
