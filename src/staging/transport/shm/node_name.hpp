#pragma once

#include <string>

/// Steps in memory that is shared with other processes of the same node.
namespace uzushio::staging::shm {

/// Return a text that is equal for processes that can share memory through /proc: same boot, same
/// process namespace, same user. Empty if the system does not provide it.
[[nodiscard]] std::string node_name();

} // namespace uzushio::staging::shm
