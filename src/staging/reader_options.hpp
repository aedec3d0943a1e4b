#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace uzushio::staging {

struct ReaderOptions {
    std::string stream; ///< expected name; empty: whichever the contact leads to
    std::chrono::nanoseconds attach_limit = std::chrono::seconds(60); ///< also for a writer to come
    std::chrono::nanoseconds answer_limit = std::chrono::seconds(60); ///< for data asked for
    int connections = 2;                                              ///< for each pair of ranks
    /// Checksums of what arrives. Unset: of stored steps, whose bytes lie on a disk for long, and
    /// not of streams.
    std::optional<bool> verify;
    std::string secret; ///< of a contact given as host:port, in hexadecimal
    bool tls = false;   ///< of a contact given as host:port
};

} // namespace uzushio::staging
