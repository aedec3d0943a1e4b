#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "staging/transport/socket/connection.hpp"

namespace uzushio::staging::relay {

/// What a relay may hold, shared out among the pairs of connections that it joins. Bytes on their
/// way are in the system's buffers alone: of each connection, those that arrived and those that the
/// other side has not received yet. Each of the two is kept under a share that is the smaller the
/// more connections there are. The relay itself has one buffer for all, through which they go.
///
/// Used by one thread.
class Allowance {
  public:
    static constexpr std::size_t least_share = std::size_t{64} << 10;
    static constexpr std::size_t most_share = std::size_t{8} << 20;
    static constexpr std::size_t buffer_bytes = std::size_t{256} << 10;

    /// `bytes` for all; as many pairs are let in as get the least share.
    explicit Allowance(std::size_t bytes);

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] std::size_t most_pairs() const;
    /// What one connection may hold in one direction.
    [[nodiscard]] std::size_t share() const { return share_; }
    /// Through which bytes are passed on; nobody may leave anything in it over a wait.
    [[nodiscard]] std::span<std::byte> buffer() { return buffer_; }

    using Connection = std::shared_ptr<socket::Connection>;
    void add(const Connection& connection);
    void remove(const Connection& connection);

    /// Bytes held now, the buffer included.
    [[nodiscard]] std::size_t held() const;

  private:
    void divide();

    std::size_t bytes_;
    std::size_t share_ = most_share;
    std::vector<std::byte> buffer_;
    std::set<Connection> connections_;
};

} // namespace uzushio::staging::relay
