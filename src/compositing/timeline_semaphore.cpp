#include "compositing/timeline_semaphore.hpp"

#include <sched.h>

#if defined(__linux__) && !defined(SMPI_H) && !defined(MPI_SMPI)
#define UZUSHIO_FUTEX 1
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#endif

namespace uzushio::compositing {

bool TimelineSemaphore::set(std::uint32_t number) {
    auto now = value_.load(std::memory_order_relaxed);
    while (static_cast<std::int32_t>(now - number) < 0)
        if (value_.compare_exchange_weak(now, number, std::memory_order_acq_rel,
                                         std::memory_order_relaxed))
            return true;
    return false;
}

bool TimelineSemaphore::spin(std::uint32_t number, std::chrono::microseconds time) const {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!reached(number)) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        sched_yield();
    }
    return true;
}

#if defined(UZUSHIO_FUTEX)

namespace {

long futex(void* word, int operation, std::uint32_t value, const timespec* timeout) {
    return syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

} // namespace

void TimelineSemaphore::signal(std::uint32_t number) {
    if (set(number))
        futex(&value_, FUTEX_WAKE, INT_MAX, nullptr);
}

bool TimelineSemaphore::wait(std::uint32_t number, std::chrono::microseconds timeout,
                             MPI_Comm /*comm*/) {
    const auto value = value_.load(std::memory_order_acquire);
    if (static_cast<std::int32_t>(value - number) >= 0)
        return true;
    const auto count = timeout.count();
    const timespec time{static_cast<time_t>(count / 1000000),
                        static_cast<long>(count % 1000000 * 1000)};
    futex(&value_, FUTEX_WAIT, value, &time); // returns at once if the value has changed
    return reached(number);
}

#else

void TimelineSemaphore::signal(std::uint32_t number) { (void)set(number); }

bool TimelineSemaphore::wait(std::uint32_t number, std::chrono::microseconds timeout,
                             MPI_Comm comm) {
    const double end = MPI_Wtime() + 1e-6 * static_cast<double>(timeout.count());
    while (!reached(number) && MPI_Wtime() < end) {
        int any = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &any, MPI_STATUS_IGNORE);
        sched_yield();
    }
    return reached(number);
}

#endif

} // namespace uzushio::compositing
