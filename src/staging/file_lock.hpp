#pragma once

namespace uzushio::staging {

/// Lock an open file or folder for this process alone, without waiting: false if another open file
/// holds the lock, true also where the file system has no locks. It belongs to the open file: the
/// kernel releases it when the process ends, however it ends.
[[nodiscard]] bool try_lock(int descriptor);

} // namespace uzushio::staging
