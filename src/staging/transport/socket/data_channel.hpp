#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>

#include "staging/transport/socket/connect.hpp"
#include "staging/transport/socket/piece_receiver.hpp"

namespace uzushio::staging::socket {

/// Remaining pieces to request from one rank of the writer. Its channels take from the front.
using PieceFetches = std::deque<PieceFetch>;

/// Data connection to one rank of the writer: opened at first use, and kept for the next steps.
class DataChannel {
  public:
    DataChannel(asio::io_context& io, ConnectTarget target) : io_(io), target_(std::move(target)) {}

    /// Fetch pieces, with several requests ahead of the answers, until none are left. A connection
    /// that was interrupted while idle is reopened once. `pieces` must live until the end.
    [[nodiscard]] asio::awaitable<void> work(PieceFetches& pieces, std::chrono::nanoseconds limit);
    /// Close the connection: a running fetch fails, and the next one reconnects.
    void cut() noexcept;

  private:
    [[nodiscard]] asio::awaitable<void> send_requests(PieceFetches& pieces,
                                                      std::chrono::nanoseconds limit);
    [[nodiscard]] asio::awaitable<void> fetch_once(PieceFetches& pieces,
                                                   std::chrono::nanoseconds limit);

    asio::io_context& io_;
    ConnectTarget target_;
    std::shared_ptr<Connection> connection_;
    PieceReceiver receiver_;
    PieceFetches requested_; ///< in the order of the answers
    std::int64_t requested_bytes_ = 0;
    bool any_answered_ = false; ///< since `work` began
};

} // namespace uzushio::staging::socket
