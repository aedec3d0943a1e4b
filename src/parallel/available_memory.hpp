#pragma once

#include <cstddef>
#include <filesystem>

namespace uzushio::parallel {

/// Bytes that can still be allocated, and the limit that applies.
struct AvailableMemory {
    std::size_t bytes = 0;
    const char* limit = "free memory"; ///< or "control group"
};

/// Return the bytes that can be allocated before the system kills processes: the minimum of the
/// system's available memory and that of this process's control groups (version 2 or 1), each of
/// which contains the next. A group's inactive file cache counts as free. Maximum of size_t if
/// unknown. `root` contains /proc and /sys.
[[nodiscard]] AvailableMemory available_memory(const std::filesystem::path& root = "/");

} // namespace uzushio::parallel
