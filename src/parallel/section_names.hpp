#pragma once

#include <string_view>

/// Names of sections that several rooms record.
namespace uzushio::parallel::section {

inline constexpr std::string_view fft = "FFT";
inline constexpr std::string_view transpose = "transposes";
inline constexpr std::string_view tridiagonal = "tridiagonal";
inline constexpr std::string_view pointwise = "pointwise";
inline constexpr std::string_view wait = "halo and waiting";

} // namespace uzushio::parallel::section
