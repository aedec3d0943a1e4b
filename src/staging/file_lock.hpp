#pragma once

namespace uzushio::staging {

/// Lock an open file or folder exclusively, without waiting. Returns false if another open file
/// holds the lock, and true if the file system has no locks. The kernel releases the lock when the
/// process ends.
[[nodiscard]] bool try_lock(int descriptor);

} // namespace uzushio::staging
