#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "parallel/compensated_sum.hpp"

namespace uzushio::linalg {

/// Return the OpenMP threads of this rank.
[[nodiscard]] inline int thread_count() { return std::max(1, omp_get_max_threads()); }

/// Call `call(part)` for each of `parts` parts of a work, each on one of `threads` threads, at the
/// same time. If OpenMP starts fewer threads than parts, one makes several calls: a call may wait
/// for those of higher numbers. Few parts have a team of the same size as many: the runtime ends
/// the threads that a smaller team does not need.
template <class Call> void on_threads(int threads, int parts, Call&& call) {
    if (parts == 1) {
        call(0);
        return;
    }
#pragma omp parallel num_threads(threads)
    for (int part = parts - 1 - omp_get_thread_num(); part >= 0; part -= omp_get_num_threads())
        call(part);
}

/// Sums of the threads of a rank, one each.
class ThreadSums {
  public:
    explicit ThreadSums(int threads = 1) : sums_(static_cast<std::size_t>(threads)) {}
    [[nodiscard]] parallel::CompensatedSum& operator[](int thread) {
        return sums_[static_cast<std::size_t>(thread)].sum;
    }
    [[nodiscard]] parallel::CompensatedSum total() const {
        parallel::CompensatedSum total = sums_[0].sum;
        for (std::size_t thread = 1; thread < sums_.size(); ++thread)
            total.add(sums_[thread].sum);
        return total;
    }

  private:
    struct alignas(64) Line { ///< of the cache, written by one thread
        parallel::CompensatedSum sum;
    };
    std::vector<Line> sums_;
};

/// Steps that each thread has completed, for threads that need each other's values.
class ThreadProgress {
  public:
    explicit ThreadProgress(int threads) : steps_(static_cast<std::size_t>(threads)) {}
    void complete(int thread, int steps) {
        auto& count = steps_[static_cast<std::size_t>(thread)].count;
        count.store(steps, std::memory_order_release);
        count.notify_all();
    }
    void wait_for(int thread, int steps) const {
        const auto& count = steps_[static_cast<std::size_t>(thread)].count;
        for (int now = count.load(std::memory_order_acquire); now < steps;
             now = count.load(std::memory_order_acquire))
            count.wait(now, std::memory_order_acquire);
    }

  private:
    struct alignas(64) Line {
        std::atomic<int> count{0};
    };
    std::vector<Line> steps_;
};

} // namespace uzushio::linalg
