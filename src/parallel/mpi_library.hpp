#pragma once

#include <mpi.h>

#include <string>

namespace uzushio::parallel {

/// Return the text of MPI_Get_library_version, of the library that this process uses; valid at any
/// time.
[[nodiscard]] inline std::string mpi_library_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    return text;
}

/// Return a sentence if `library` (as mpi_library_version) is not an MPI that this code was
/// compiled for: another family, or another major version of Open MPI. Empty if it is.
[[nodiscard]] std::string mpi_mismatch(const std::string& library);

} // namespace uzushio::parallel
