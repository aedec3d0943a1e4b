#include "linalg/fftw.hpp"

#include <cstdlib>

namespace uzushio::linalg {

std::string export_wisdom() {
    char* text = fftw_export_wisdom_to_string();
    std::string wisdom = text ? text : "";
    std::free(text);
    return wisdom;
}

bool import_wisdom(const std::string& wisdom) {
    fftw_forget_wisdom();
    return fftw_import_wisdom_from_string(wisdom.c_str()) != 0;
}

void share_wisdom(const parallel::Communicator& comm) {
    std::string wisdom = comm.rank() == 0 ? export_wisdom() : "";
    int length = static_cast<int>(wisdom.size());
    MPI_Bcast(&length, 1, MPI_INT, 0, comm.get());
    wisdom.resize(static_cast<std::size_t>(length));
    MPI_Bcast(wisdom.data(), length, MPI_CHAR, 0, comm.get());
    if (comm.rank() != 0)
        import_wisdom(wisdom);
}

} // namespace uzushio::linalg
