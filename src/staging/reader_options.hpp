#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace uzushio::staging {

struct ReaderOptions {
    std::string stream; ///< expected name; empty: any
    std::chrono::nanoseconds attach_limit =
        std::chrono::seconds(60); ///< includes the wait for a writer
    std::chrono::nanoseconds answer_limit = std::chrono::seconds(60); ///< for requested data
    int connections = 2;                                              ///< for each pair of ranks
    /// Skip to the newest step at each request, and never make a writer wait for steps that it has
    /// not received, whatever the policy of its queue. Engines shm, tcp and mpi, also by relays.
    bool latest_only = false;
    /// Verify checksums of received values. Unset: for stored steps only.
    std::optional<bool> verify;
    std::string secret; ///< of a contact given as host:port, in hexadecimal
    bool tls = false;   ///< of a contact given as host:port
};

} // namespace uzushio::staging
