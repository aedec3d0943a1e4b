#pragma once

#include <cstddef>
#include <filesystem>

namespace uzushio::staging::shm {

/// Return the bytes that can be allocated before the system kills processes: the minimum of the
/// system's available memory and that of this process's control group (version 2 or 1). A group's
/// inactive file cache counts as free. Maximum of size_t if unknown. `root` contains /proc and
/// /sys.
[[nodiscard]] std::size_t available_memory(const std::filesystem::path& root = "/");

} // namespace uzushio::staging::shm
