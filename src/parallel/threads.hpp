#pragma once

#include <omp.h>

#include <algorithm>
#include <exception>

namespace uzushio::parallel {

/// Return the OpenMP threads of this rank.
[[nodiscard]] inline int thread_count() { return std::max(1, omp_get_max_threads()); }

/// Call `call(part)` for each of `parts` parts of a work, each on one of `threads` threads, at the
/// same time. If OpenMP starts fewer threads than parts, one makes several calls: a call may wait
/// for those of higher numbers. Few parts have a team of the same size as many: the runtime ends
/// the threads that a smaller team does not need. The calling thread makes the call of the last
/// part. One of the exceptions of the calls is passed on after all of them.
template <class Call> void on_threads(int threads, int parts, Call&& call) {
    if (parts == 1) {
        call(0);
        return;
    }
    std::exception_ptr failure;
#pragma omp parallel num_threads(threads)
    for (int part = parts - 1 - omp_get_thread_num(); part >= 0; part -= omp_get_num_threads())
        try {
            call(part);
        } catch (...) {
#pragma omp critical(uzushio_on_threads)
            failure = std::current_exception();
        }
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace uzushio::parallel
