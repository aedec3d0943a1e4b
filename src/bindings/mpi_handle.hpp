#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <optional>

namespace uzushio::bindings {

/// Return the communicator of a handle, which mpi4py passes as an integer.
inline MPI_Comm communicator(std::uintptr_t handle) {
    MPI_Comm comm{};
    static_assert(sizeof(comm) <= sizeof(handle));
    std::memcpy(static_cast<void*>(&comm), &handle, sizeof(comm));
    return comm;
}

/// MPI_COMM_NULL for none: then MPI need not be running.
inline MPI_Comm communicator(const std::optional<std::uintptr_t>& handle) {
    return handle ? communicator(*handle) : MPI_COMM_NULL;
}

} // namespace uzushio::bindings
