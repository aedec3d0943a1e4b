#pragma once

#include <cstddef>
#include <filesystem>

namespace uzushio::staging::shm {

/// Bytes that can be had without the system ending processes for it: what the system has left, or
/// this process's own control group (version 2 or 1) if that is less. What the group holds of files
/// that nobody uses counts as free. All there is if nobody tells. `root` is where /proc and /sys
/// are.
[[nodiscard]] std::size_t available_memory(const std::filesystem::path& root = "/");

} // namespace uzushio::staging::shm
