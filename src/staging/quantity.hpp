#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace uzushio::staging {

/// "4 GB", "256 MiB", "1500": bytes, as python/uzushio/config/quantities.py has them. GB is 10^9, GiB
/// 2^30. Throws std::invalid_argument that says what such a text "must be", unless at least one
/// byte and below 2^63.
[[nodiscard]] std::size_t parse_size(std::string_view text);

/// "10 s", "250 ms", "1.5": a time, in seconds without a unit. Throws as `parse_size`, unless at
/// least zero and at most 10^9 s.
[[nodiscard]] std::chrono::nanoseconds parse_time(std::string_view text);

} // namespace uzushio::staging
