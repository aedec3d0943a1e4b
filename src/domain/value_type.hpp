#pragma once

#include <mpi.h>

#include <type_traits>

namespace uzushio::domain {

/// MPI's name of the type of a field's values.
template <class T> [[nodiscard]] MPI_Datatype value_type() {
    static_assert(std::is_same_v<T, double> || std::is_same_v<T, float>);
    return std::is_same_v<T, double> ? MPI_DOUBLE : MPI_FLOAT;
}

} // namespace uzushio::domain
