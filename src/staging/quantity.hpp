#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace uzushio::staging {

/// Parse bytes, such as "4 GB", "256 MiB", "1500", as python/uzushio/_base/config/quantities.py
/// does. GB is 10^9, GiB 2^30. Throws std::invalid_argument with the allowed form ("must be")
/// unless 1 <= bytes < 2^63.
[[nodiscard]] std::size_t parse_size(std::string_view text);

/// Parse a time, such as "10 s", "250 ms", "1.5" (seconds). Throws as `parse_size` unless it is
/// from 0 to 10^9 s.
[[nodiscard]] std::chrono::nanoseconds parse_time(std::string_view text);

} // namespace uzushio::staging
