#pragma once

#include <atomic>
#include <vector>

#include "parallel/compensated_sum.hpp"
#include "parallel/threads.hpp"

namespace uzushio::linalg {

using parallel::on_threads;
using parallel::thread_count;

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
