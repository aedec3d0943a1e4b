#pragma once

#include <functional>
#include <thread>

namespace uzushio::staging {

/// A thread that takes no signals: they are the solver's.
[[nodiscard]] std::thread quiet_thread(std::function<void()> work);

} // namespace uzushio::staging
