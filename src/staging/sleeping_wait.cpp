#include "staging/sleeping_wait.hpp"

#include <algorithm>
#include <thread>

namespace uzushio::staging {
namespace {

constexpr int most_yields = 50;
constexpr std::chrono::nanoseconds longest_sleep = std::chrono::milliseconds(1);
constexpr std::chrono::nanoseconds patience = std::chrono::milliseconds(100);
constexpr std::chrono::nanoseconds idle_sleep = std::chrono::milliseconds(5);

} // namespace

void Pauses::pause() {
    if (yields_ < most_yields) {
        ++yields_;
        std::this_thread::yield();
        return;
    }
    std::this_thread::sleep_for(sleep_);
    slept_ += sleep_;
    sleep_ = slept_ < patience ? std::min(longest_sleep, sleep_ + sleep_ / 2) : idle_sleep;
}

void wait_asleep(std::span<MPI_Request> requests) {
    Pauses pauses;
    for (;;) {
        int done = 0;
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
        if (done != 0)
            return;
        pauses.pause();
    }
}

} // namespace uzushio::staging
