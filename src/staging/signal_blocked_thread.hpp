#pragma once

#include <functional>
#include <thread>

namespace uzushio::staging {

/// Start a thread with all signals blocked; signals are delivered to the solver's threads.
[[nodiscard]] std::thread start_signal_blocked_thread(std::function<void()> work);

} // namespace uzushio::staging
