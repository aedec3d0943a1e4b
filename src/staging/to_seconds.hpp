#pragma once

#include <chrono>
#include <sstream>
#include <string>

namespace uzushio::staging {

/// Return a time for messages: "0.5 s".
[[nodiscard]] inline std::string to_seconds(std::chrono::nanoseconds time) {
    std::ostringstream text;
    text << std::chrono::duration<double>(time).count() << " s";
    return text.str();
}

} // namespace uzushio::staging
