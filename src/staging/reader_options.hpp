#pragma once

#include <chrono>
#include <string>

namespace uzushio::staging {

struct ReaderOptions {
    std::string stream; ///< expected name; empty: whichever the contact leads to
    std::chrono::nanoseconds attach_limit = std::chrono::seconds(60); ///< also for a writer to come
    std::chrono::nanoseconds answer_limit = std::chrono::seconds(60); ///< for data asked for
    int connections = 2;                                              ///< for each pair of ranks
    bool verify = false;                                              ///< checksums of what arrives
    std::string secret; ///< of a contact given as host:port, in hexadecimal
    bool tls = false;   ///< of a contact given as host:port
};

} // namespace uzushio::staging
