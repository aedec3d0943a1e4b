#include "parallel/mpi_library.hpp"

namespace uzushio::parallel {

std::string mpi_mismatch(const std::string& library) {
#if defined(OMPI_MAJOR_VERSION)
    const std::string built = "Open MPI v" + std::to_string(OMPI_MAJOR_VERSION) + ".";
    const bool same = library.find(built) != std::string::npos;
#elif defined(MPICH_VERSION)
    const std::string built = "MPICH ";
    bool same = false; // those with the ABI of MPICH
    for (const char* family : {"MPICH", "Intel", "MVAPICH", "Cray"})
        same = same || library.find(family) != std::string::npos;
#else
    const std::string built;
    const bool same = true;
#endif
    if (same)
        return {};
    return "This program uses " + library.substr(0, library.find_first_of("\n,")) +
           ", but libuzushio was built for " + built +
           "x: compile the program with the MPI of libuzushio, or build Uzushio for that of the "
           "program (UZUSHIO_MPI=site with its mpicxx on PATH).";
}

} // namespace uzushio::parallel
