#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace uzushio::parallel {

/// Return this rank's minimum time of `repeats` runs of `work`, which all ranks start together, in
/// seconds (collective).
template <class F> double min_seconds(MPI_Comm comm, int repeats, F&& work) {
    using Clock = std::chrono::steady_clock;
    double shortest = std::numeric_limits<double>::max();
    for (int i = 0; i < repeats; ++i) {
        MPI_Barrier(comm);
        const auto start = Clock::now();
        work();
        const std::chrono::duration<double> spent = Clock::now() - start;
        shortest = std::min(shortest, spent.count());
    }
    return shortest;
}

} // namespace uzushio::parallel
