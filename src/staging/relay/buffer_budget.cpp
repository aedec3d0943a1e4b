#include "staging/relay/buffer_budget.hpp"

#include <algorithm>

namespace uzushio::staging::relay {

BufferBudget::BufferBudget(std::size_t bytes) : bytes_(bytes), buffer_(buffer_bytes) { divide(); }

std::size_t BufferBudget::max_pairs() const {
    return std::max<std::size_t>(1, (bytes_ - std::min(bytes_, buffer_bytes)) / (2 * min_share));
}

void BufferBudget::add(const Connection& connection) {
    connections_.insert(connection);
    divide();
    connection->limit_receive_window(share_);
}

void BufferBudget::remove(const Connection& connection) {
    connections_.erase(connection);
    divide();
}

/// A step flows one way: per pair of connections, the received bytes of one and the sent bytes of
/// the other count.
void BufferBudget::divide() {
    const std::size_t directions = std::max<std::size_t>(2, connections_.size());
    const std::size_t left = bytes_ - std::min(bytes_, buffer_bytes);
    const std::size_t share = std::clamp(left / directions, min_share, max_share);
    if (share == share_)
        return;
    share_ = share;
    for (const auto& connection : connections_)
        connection->limit_receive_window(share_);
}

std::size_t BufferBudget::held() const {
    std::size_t bytes = buffer_.size();
    for (const auto& connection : connections_)
        bytes += connection->unread_bytes() + connection->unacknowledged_bytes();
    return bytes;
}

} // namespace uzushio::staging::relay
