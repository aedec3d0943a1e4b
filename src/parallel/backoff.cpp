#include "parallel/backoff.hpp"

#include <algorithm>
#include <thread>

namespace uzushio::parallel {
namespace {

constexpr int max_yields = 50;
constexpr std::chrono::nanoseconds max_sleep = std::chrono::milliseconds(1);
constexpr std::chrono::nanoseconds idle_after = std::chrono::milliseconds(100);
constexpr std::chrono::nanoseconds idle_sleep = std::chrono::milliseconds(5);

} // namespace

void Backoff::pause() {
    if (yields_ < max_yields) {
        ++yields_;
        std::this_thread::yield();
        return;
    }
    std::this_thread::sleep_for(sleep_);
    slept_ += sleep_;
    sleep_ = slept_ < idle_after ? std::min(max_sleep, sleep_ + sleep_ / 2) : idle_sleep;
}

void blocking_wait(std::span<MPI_Request> requests) {
    Backoff backoff;
    for (;;) {
        int done = 0;
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
        if (done != 0)
            return;
        backoff.pause();
    }
}

} // namespace uzushio::parallel
