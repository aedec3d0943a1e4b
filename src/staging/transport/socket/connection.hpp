#pragma once

#include <sys/uio.h>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "staging/transport/socket/tls.hpp"
#include "staging/wire/frame.hpp"
#include "staging/wire/limits.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::socket {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline constexpr Deadline never = Deadline::max();

/// That much from now on; `never` for what would not fit.
[[nodiscard]] Deadline after(std::chrono::nanoseconds limit);

/// A message as it came, and decoded only when asked for.
struct Incoming {
    Frame frame;
    std::vector<std::byte> bytes; ///< frame and body

    [[nodiscard]] Message message(const Limits& limits = {}) const; ///< throws DecodeError
};

/// Messages and raw bytes over one TCP connection, plain or through TLS. Waits are coroutines on
/// the socket's executor, which must be one thread's, and all end at a deadline.
///
/// Throws PeerGone when the other side has closed or cannot be reached, PeerSilent after a
/// deadline, DecodeError for what is no message. After any of them the connection is of no use but
/// to say a last word. One coroutine may read while another one writes. Lives in a shared_ptr.
class Connection : public std::enable_shared_from_this<Connection> {
  public:
    explicit Connection(asio::ip::tcp::socket socket);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Go on with TLS; before anything else was sent or received.
    [[nodiscard]] asio::awaitable<void> secure(const TlsContext& context, Side side,
                                               Deadline deadline);

    /// The next message. Its first byte must come until `first`; then `rest` is the time for all of
    /// it; zero: `first` holds for all. Refused before memory is taken if larger than allowed.
    [[nodiscard]] asio::awaitable<Incoming> receive(Limits limits, Deadline first,
                                                    std::chrono::nanoseconds rest);
    /// At least one byte, into buffers; the first of them must not be empty.
    [[nodiscard]] asio::awaitable<std::size_t> read_some(std::span<const iovec> to,
                                                         Deadline deadline);
    /// Whether bytes are here already that `receive` or `read_some` would hand out.
    [[nodiscard]] bool has_input() const { return input_begin_ < input_end_; }

    /// All of the bytes, some at least within each `patience`.
    [[nodiscard]] asio::awaitable<void> send(std::span<const std::byte> bytes,
                                             std::chrono::nanoseconds patience);
    /// The same from several buffers, which are used up.
    [[nodiscard]] asio::awaitable<void> send(std::span<iovec> buffers,
                                             std::chrono::nanoseconds patience);
    /// At least one byte.
    [[nodiscard]] asio::awaitable<std::size_t> write_some(std::span<const iovec> from,
                                                          Deadline deadline);

    // For a relay, which passes bytes on and keeps none: what it cannot send yet stays where it is.

    /// Bytes that have arrived, copied to `to` and not taken away; none yet: what to wait for. No
    /// bytes while nothing is wanted: the other side has closed.
    [[nodiscard]] Transfer try_peek(std::span<std::byte> to);
    /// Take away bytes that `try_peek` has shown.
    void skip(std::size_t bytes);
    /// Send what can be sent at once. After a `want`, to be repeated with the same bytes.
    [[nodiscard]] Transfer try_write(std::span<const iovec> from);
    [[nodiscard]] asio::awaitable<void> can_peek(Want want) { return wait(want, reading_, never); }
    [[nodiscard]] asio::awaitable<void> can_write(Want want) { return wait(want, writing_, never); }
    /// Bytes that the system holds: arrived, and sent but not received by the other side's system.
    [[nodiscard]] std::size_t held_in() const;
    [[nodiscard]] std::size_t held_out() const;
    /// Let the other side send no more than so many bytes ahead; to be repeated when some were
    /// taken, because the system raises such limits by itself.
    void limit_ahead(std::size_t bytes);

    /// Send no more. The other side reads what was sent, then the end.
    void finish() noexcept;
    /// Whether the other side's system has everything that was sent.
    [[nodiscard]] bool delivered() const;
    /// What waits on the connection fails.
    void close() noexcept;
    [[nodiscard]] bool is_open() const { return socket_.is_open(); }
    /// "host:port" of the other side, for messages.
    [[nodiscard]] const std::string& peer() const { return peer_; }
    [[nodiscard]] auto get_executor() { return socket_.get_executor(); }

  private:
    /// Cuts a wait off at a deadline. The timer stays armed over many short waits, because to
    /// set it costs a system call.
    struct Watch {
        explicit Watch(const asio::any_io_executor& executor) : timer(executor) {}
        asio::steady_timer timer;
        Deadline deadline = never;
        Deadline armed = never;
        bool expired = false;
    };
    [[nodiscard]] int handle() const {
        return const_cast<asio::ip::tcp::socket&>(socket_).native_handle();
    }
    void watch(Watch& watch, Deadline deadline);
    void arm(Watch& watch);
    [[nodiscard]] asio::awaitable<void> wait(Want want, Watch& watch, Deadline deadline);
    [[nodiscard]] Transfer try_read(std::span<const iovec> to);
    [[nodiscard]] asio::awaitable<void> fill(std::size_t bytes, Deadline first,
                                             std::chrono::nanoseconds rest);

    asio::ip::tcp::socket socket_;
    std::unique_ptr<TlsStream> tls_;
    Watch reading_;
    Watch writing_;
    std::string peer_;
    std::vector<std::byte> input_; ///< came with a message, beyond its end
    std::size_t input_begin_ = 0;
    std::size_t input_end_ = 0;
    bool locked_ = false; ///< see limit_ahead
};

} // namespace uzushio::staging::socket
