#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace uzushio::parallel {

/// Parts of a step that are timed separately.
enum class Section { fft, transpose, tridiagonal, pointwise, wait, count };

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Section::count)>
    section_names = {"FFT", "transposes", "tridiagonal", "pointwise", "halo and waiting"};

/// Seconds spent in each section; `lap` adds the time since the last call to one of them.
class Stopwatch {
  public:
    void start() { last_ = Clock::now(); }
    void lap(Section section) {
        const auto now = Clock::now();
        seconds_[static_cast<std::size_t>(section)] +=
            std::chrono::duration<double>(now - last_).count();
        last_ = now;
    }
    [[nodiscard]] double operator[](Section section) const {
        return seconds_[static_cast<std::size_t>(section)];
    }
    void reset() { seconds_ = {}; }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point last_ = Clock::now();
    std::array<double, static_cast<std::size_t>(Section::count)> seconds_{};
};

} // namespace uzushio::parallel
