#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>

namespace uzushio::parallel {

/// Throw `Error` on all ranks of `comm` if any rank has an error message (collective; one reduction
/// if no rank has one). `error` is empty on a rank without an error. All ranks throw the message of
/// the lowest rank with an error, preceded by "rank N: " on ranks with another error or none.
template <class Error = std::runtime_error>
void agree_on_errors(MPI_Comm comm, const std::string& error) {
    int rank = 0, size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int first = error.empty() ? size : rank;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm);
    if (first == size)
        return;
    unsigned long long length = error.size();
    MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, first, comm);
    std::string message = rank == first ? error : std::string(length, ' ');
    MPI_Bcast(message.data(), static_cast<int>(length), MPI_CHAR, first, comm);
    throw Error(message == error ? message : "rank " + std::to_string(first) + ": " + message);
}

} // namespace uzushio::parallel
