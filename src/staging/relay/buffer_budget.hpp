#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "staging/transport/socket/connection.hpp"

namespace uzushio::staging::relay {

/// Memory budget of a relay, divided among its pairs of connections. Bytes in transit are in the
/// system's buffers: received but not forwarded, and sent but not acknowledged. For each
/// connection, both are limited to an equal share. The relay itself has one buffer for all
/// connections.
///
/// For one thread.
class BufferBudget {
  public:
    static constexpr std::size_t min_share = std::size_t{64} << 10;
    static constexpr std::size_t max_share = std::size_t{8} << 20;
    static constexpr std::size_t buffer_bytes = std::size_t{256} << 10;

    /// `bytes` for all connections; limits the number of pairs, so that each gets the minimum
    /// share.
    explicit BufferBudget(std::size_t bytes);

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] std::size_t max_pairs() const;
    /// Maximum bytes of one connection in one direction.
    [[nodiscard]] std::size_t share() const { return share_; }
    /// Buffer for forwarding; its content is lost in a wait.
    [[nodiscard]] std::span<std::byte> buffer() { return buffer_; }

    using Connection = std::shared_ptr<socket::Connection>;
    void add(const Connection& connection);
    void remove(const Connection& connection);

    /// Bytes that are held now, including the buffer.
    [[nodiscard]] std::size_t held() const;

  private:
    void divide();

    std::size_t bytes_;
    std::size_t share_ = max_share;
    std::vector<std::byte> buffer_;
    std::set<Connection> connections_;
};

} // namespace uzushio::staging::relay
