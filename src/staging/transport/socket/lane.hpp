#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>

#include "staging/transport/socket/dial.hpp"
#include "staging/transport/socket/piece_receiver.hpp"

namespace uzushio::staging::socket {

/// What is still to be asked for of one rank of the writer. Its lanes take from the front.
using Jobs = std::deque<Job>;

/// One data connection to one rank of the writer: opened when first used, kept for the next steps.
class Lane {
  public:
    Lane(asio::io_context& io, Call call) : io_(io), call_(std::move(call)) {}

    /// Ask for jobs, several ahead of what arrives, until none are left. A connection that was cut
    /// while nobody used it is opened anew, once. `jobs` must live until the end.
    [[nodiscard]] asio::awaitable<void> work(Jobs& jobs, std::chrono::nanoseconds limit);
    /// What is under way fails; the next work begins with a new connection.
    void cut() noexcept;

  private:
    [[nodiscard]] asio::awaitable<void> ask(Jobs& jobs, std::chrono::nanoseconds limit);
    [[nodiscard]] asio::awaitable<void> work_once(Jobs& jobs, std::chrono::nanoseconds limit);

    asio::io_context& io_;
    Call call_;
    std::shared_ptr<Connection> connection_;
    PieceReceiver receiver_;
    Jobs asked_; ///< in the order in which they will be answered
    std::int64_t asked_bytes_ = 0;
    bool answered_ = false; ///< since `work` began
};

} // namespace uzushio::staging::socket
