#include "staging/relay/allowance.hpp"

#include <algorithm>

namespace uzushio::staging::relay {

Allowance::Allowance(std::size_t bytes) : bytes_(bytes), buffer_(buffer_bytes) { divide(); }

std::size_t Allowance::most_pairs() const {
    return std::max<std::size_t>(1, (bytes_ - std::min(bytes_, buffer_bytes)) / (2 * least_share));
}

void Allowance::add(const Connection& connection) {
    connections_.insert(connection);
    divide();
    connection->limit_ahead(share_);
}

void Allowance::remove(const Connection& connection) {
    connections_.erase(connection);
    divide();
}

/// A step flows one way: what counts of a pair is what arrives on one connection and leaves on the
/// other.
void Allowance::divide() {
    const std::size_t directions = std::max<std::size_t>(2, connections_.size());
    const std::size_t left = bytes_ - std::min(bytes_, buffer_bytes);
    const std::size_t share = std::clamp(left / directions, least_share, most_share);
    if (share == share_)
        return;
    share_ = share;
    for (const auto& connection : connections_)
        connection->limit_ahead(share_);
}

std::size_t Allowance::held() const {
    std::size_t bytes = buffer_.size();
    for (const auto& connection : connections_)
        bytes += connection->held_in() + connection->held_out();
    return bytes;
}

} // namespace uzushio::staging::relay
