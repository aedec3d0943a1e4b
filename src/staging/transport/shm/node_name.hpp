#pragma once

#include <string>

/// Steps in memory that other processes of the same node look at.
namespace uzushio::staging::shm {

/// A text that is equal for processes that can share memory through /proc: same system since its
/// start, same process numbers, same user. Empty where the system does not tell.
[[nodiscard]] std::string node_name();

} // namespace uzushio::staging::shm
