#pragma once

#include <sys/uio.h>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "staging/transport/socket/tls.hpp"
#include "staging/wire/decode_limits.hpp"
#include "staging/wire/frame_header.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::socket {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline constexpr Deadline never = Deadline::max();

/// Return the time `limit` from now; `never` on overflow.
[[nodiscard]] Deadline after(std::chrono::nanoseconds limit);

/// Received message, decoded on request.
struct ReceivedMessage {
    FrameHeader frame;
    std::vector<std::byte> bytes; ///< frame and body

    [[nodiscard]] Message message(const DecodeLimits& limits = {}) const; ///< throws DecodeError
};

/// Connection for messages and raw bytes over TCP, plain or with TLS. Waits are coroutines on the
/// socket's executor, which one thread runs; all waits end at a deadline.
///
/// Throws PeerGone when the peer has closed or is unreachable, PeerSilent after a deadline,
/// DecodeError for an invalid message. After an error the connection can only send a final message.
/// One coroutine may read while another one writes. Owned by a shared_ptr.
class Connection : public std::enable_shared_from_this<Connection> {
  public:
    explicit Connection(asio::ip::tcp::socket socket);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Start TLS; before anything else was sent or received.
    [[nodiscard]] asio::awaitable<void> secure(const TlsContext& context, ConnectionRole side,
                                               Deadline deadline);

    /// Return the first byte that the peer sends, without consuming it; before `secure`. Nothing if
    /// the peer has closed.
    [[nodiscard]] asio::awaitable<std::optional<std::byte>> peek_first_byte(Deadline deadline);

    /// Receive the next message. Its first byte must arrive until `first`; then `rest` is the time
    /// for the whole message. Zero: `first` applies to all of it. Messages above the limits are
    /// refused before memory is allocated.
    [[nodiscard]] asio::awaitable<ReceivedMessage> receive(DecodeLimits limits, Deadline first,
                                                           std::chrono::nanoseconds rest);
    /// Read at least one byte into buffers; the first of them must not be empty.
    [[nodiscard]] asio::awaitable<std::size_t> read_some(std::span<const iovec> to,
                                                         Deadline deadline);
    /// Return whether `receive` or `read_some` can return bytes without waiting.
    [[nodiscard]] bool has_input() const { return input_begin_ < input_end_; }

    /// Send all bytes; progress must be made within each `timeout`.
    [[nodiscard]] asio::awaitable<void> send(std::span<const std::byte> bytes,
                                             std::chrono::nanoseconds timeout);
    /// Send several buffers, which are modified.
    [[nodiscard]] asio::awaitable<void> send(std::span<iovec> buffers,
                                             std::chrono::nanoseconds timeout);

    // For a relay, which forwards bytes without storing them: unsent bytes stay in the system's
    // buffers.

    /// Copy received bytes to `to` without consuming them. If there are none, return what to wait
    /// for; if there is nothing to wait for, the peer has closed.
    [[nodiscard]] IoResult try_peek(std::span<std::byte> to);
    /// Consume bytes that `try_peek` has returned.
    void skip(std::size_t bytes);
    /// Send bytes without waiting. If the result has a `wait_for`, repeat with the same bytes.
    [[nodiscard]] IoResult try_write(std::span<const iovec> from);
    [[nodiscard]] asio::awaitable<void> can_peek(IoDirection direction) {
        return wait(direction, read_timer_, never);
    }
    [[nodiscard]] asio::awaitable<void> can_write(IoDirection direction) {
        return wait(direction, write_timer_, never);
    }
    /// Bytes in the system's buffers: received but not read; sent but not acknowledged by the peer.
    [[nodiscard]] std::size_t unread_bytes() const;
    [[nodiscard]] std::size_t unacknowledged_bytes() const;
    /// Limit the bytes that the peer may send ahead. Repeat after reading, because the system
    /// raises such limits.
    void limit_receive_window(std::size_t bytes);

    /// Send no more. The peer reads the sent bytes, then the end.
    void shutdown_send() noexcept;
    /// Return whether the peer's system has acknowledged all sent bytes.
    [[nodiscard]] bool delivered() const;
    /// Close; all waits on the connection fail.
    void close() noexcept;
    [[nodiscard]] bool is_open() const { return socket_.is_open(); }
    /// "host:port" of the peer, for messages.
    [[nodiscard]] const std::string& peer() const { return peer_; }
    [[nodiscard]] auto get_executor() { return socket_.get_executor(); }

  private:
    /// Timer that ends a wait at a deadline. It stays armed over many short waits, because to set
    /// it costs a system call.
    struct WaitTimer {
        explicit WaitTimer(const asio::any_io_executor& executor) : timer(executor) {}
        asio::steady_timer timer;
        Deadline deadline = never;
        Deadline armed = never;
        bool expired = false;
    };
    [[nodiscard]] int handle() const {
        return const_cast<asio::ip::tcp::socket&>(socket_).native_handle();
    }
    void set_deadline(WaitTimer& timer, Deadline deadline);
    void arm(WaitTimer& timer);
    [[nodiscard]] asio::awaitable<void> wait(IoDirection direction, WaitTimer& timer,
                                             Deadline deadline);
    [[nodiscard]] IoResult try_read(std::span<const iovec> to);
    [[nodiscard]] asio::awaitable<void> fill(std::size_t bytes, Deadline first,
                                             std::chrono::nanoseconds rest);

    asio::ip::tcp::socket socket_;
    std::unique_ptr<TlsStream> tls_;
    WaitTimer read_timer_;
    WaitTimer write_timer_;
    std::string peer_;
    std::vector<std::byte> input_; ///< received behind the end of a message
    std::size_t input_begin_ = 0;
    std::size_t input_end_ = 0;
    bool window_locked_ = false; ///< see limit_receive_window
};

} // namespace uzushio::staging::socket
