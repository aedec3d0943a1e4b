#pragma once

#include <functional>
#include <memory>
#include <typeindex>

namespace uzushio::staging::mpi {

/// Return this rank's object for a type, made by `make` at the first call. Thread-safe.
[[nodiscard]] void* job_state(std::type_index type,
                              const std::function<std::shared_ptr<void>()>& make);

/// Return this rank's only `State`: tags, windows and abandoned requests, which all streams of a
/// rank share as they share MPI. It is made at the first call, cached as an attribute
/// of MPI_COMM_SELF, and never destroyed, because MPI may use its memory until the process ends.
/// Requires that MPI is initialised.
template <class State> [[nodiscard]] State& job_state() {
    return *static_cast<State*>(job_state(
        typeid(State), []() -> std::shared_ptr<void> { return std::make_shared<State>(); }));
}

} // namespace uzushio::staging::mpi
