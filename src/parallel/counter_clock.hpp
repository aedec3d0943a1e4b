#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace uzushio::parallel {

/// Clock that reads the processor's time stamp counter, in less than half of the time of
/// `steady_clock`. The first reading takes 2 ms: it measures the counter's rate. It is
/// `steady_clock` where the processor does not say that its counter has a constant rate.
class CounterClock {
  public:
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<CounterClock>;
    static constexpr bool is_steady = true;

    static time_point now() {
        static const Rate rate;
#if defined(__x86_64__)
        if (rate.nanoseconds > 0) {
            const auto ticks =
                static_cast<double>(static_cast<std::int64_t>(__builtin_ia32_rdtsc() - rate.first));
            return time_point(duration(static_cast<rep>(ticks * rate.nanoseconds)));
        }
#endif
        return time_point(std::chrono::steady_clock::now().time_since_epoch());
    }

  private:
    /// First value of the counter, and nanoseconds of a tick; 0: not used.
    struct Rate {
        Rate() {
#if defined(__x86_64__)
            unsigned a = 0, b = 0, c = 0, d = 0;
            constexpr unsigned invariant = 1U << 8;
            if (__get_cpuid(0x80000007U, &a, &b, &c, &d) == 0 || (d & invariant) == 0)
                return;
            const Pair begin = read_both();
            Pair end = begin;
            while (end.moment - begin.moment < std::chrono::milliseconds(2))
                end = read_both();
            first = begin.ticks;
            nanoseconds =
                std::chrono::duration<double, std::nano>(end.moment - begin.moment).count() /
                static_cast<double>(end.ticks - begin.ticks);
#endif
        }
        std::uint64_t first = 0;
        double nanoseconds = 0;
    };
#if defined(__x86_64__)
    struct Pair {
        std::chrono::steady_clock::time_point moment;
        std::uint64_t ticks = 0;
    };
    /// Read both clocks at the same moment: of several times, the one with the fewest ticks
    /// between.
    static Pair read_both() {
        Pair best;
        std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
        for (int i = 0; i < 20; ++i) {
            const std::uint64_t before = __builtin_ia32_rdtsc();
            const auto moment = std::chrono::steady_clock::now();
            const std::uint64_t taken = __builtin_ia32_rdtsc() - before;
            if (taken < fewest) {
                fewest = taken;
                best = {moment, before + taken / 2};
            }
        }
        return best;
    }
#endif
};

} // namespace uzushio::parallel
