#include "staging/transport/socket/connection.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>
#include <utility>

#include "staging/staging_error.hpp"
#include "staging/transport/socket/address.hpp"
#include "staging/transport/socket/runs.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

/// Large enough for many requests; small enough that the extra copy of data received with a frame
/// costs little.
constexpr std::size_t input_bytes = 16384;

constexpr int receive_lock = 2; // a Linux constant without a header in the C library

[[noreturn]] void throw_cut(int error) {
    throw PeerGone("The connection was interrupted (" + std::generic_category().message(error) +
                   ").");
}

/// Repeat a system call until it returns a number of bytes, or the socket has to become ready.
template <class ConnectTarget> IoResult transfer(IoDirection direction, ConnectTarget&& call) {
    for (;;) {
        const ssize_t bytes = call();
        if (bytes >= 0)
            return {static_cast<std::size_t>(bytes), IoDirection::none};
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return {0, direction};
        if (errno != EINTR)
            throw_cut(errno);
    }
}

/// For sendmsg and recvmsg, which do not modify the buffers.
msghdr header_of(std::span<const iovec> buffers) {
    msghdr header{};
    header.msg_iov = const_cast<iovec*>(buffers.data());
    header.msg_iovlen = buffers.size();
    return header;
}

[[noreturn]] void throw_closed() { throw PeerGone("The connection was closed by the peer."); }

/// Buffers of a connection within one machine. Data in flight then stay in the processor's cache.
/// The system's default grows to many megabytes and is slower by a third here; it is right for long
/// distances.
constexpr int local_send_bytes = 256 << 10;
constexpr int local_receive_bytes = 512 << 10;

bool is_local(const asio::ip::tcp::socket& socket) {
    asio::error_code fault;
    const auto here = socket.local_endpoint(fault).address();
    return !fault && here == socket.remote_endpoint(fault).address() && !fault;
}

/// A peer whose machine has failed sends nothing; keepalive ends the wait.
void set_options(int socket, bool local) {
    const auto set = [&](int level, int name, int value) {
        (void)::setsockopt(socket, level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 20);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set(IPPROTO_TCP, TCP_KEEPCNT, 4);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
    if (local) {
        set(SOL_SOCKET, SO_SNDBUF, local_send_bytes);
        set(SOL_SOCKET, SO_RCVBUF, local_receive_bytes);
    }
    (void)::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

std::string name_of(const asio::ip::tcp::socket& socket) {
    asio::error_code fault;
    const auto end = socket.remote_endpoint(fault);
    return fault ? "unknown" : to_text(Address{end.address().to_string(), end.port()});
}

} // namespace

Deadline after(std::chrono::nanoseconds limit) {
    constexpr std::chrono::nanoseconds year = std::chrono::hours(24 * 365);
    return limit >= year ? never : Clock::now() + std::max(limit, std::chrono::nanoseconds(0));
}

Message ReceivedMessage::message(const DecodeLimits& limits) const {
    return decode(frame, std::span(bytes).subspan(FrameHeader::size), limits);
}

Connection::Connection(asio::ip::tcp::socket socket)
    : socket_(std::move(socket)), read_timer_(socket_.get_executor()),
      write_timer_(socket_.get_executor()), peer_(name_of(socket_)) {
    asio::error_code fault;
    socket_.native_non_blocking(true, fault);
    set_options(socket_.native_handle(), is_local(socket_));
}

// ---- waiting ----------------------------------------------------------------------------------

void Connection::set_deadline(WaitTimer& timer, Deadline deadline) {
    timer.deadline = deadline;
    timer.expired = false;
    if (deadline < timer.armed)
        arm(timer);
}

void Connection::arm(WaitTimer& timer) {
    timer.armed = timer.deadline;
    timer.timer.expires_at(timer.deadline);
    // `timer` is a member: it lives as long as the connection, which the weak pointer checks.
    timer.timer.async_wait([weak = weak_from_this(), &timer](const asio::error_code& aborted) {
        const auto self = weak.lock();
        if (aborted || !self)
            return;
        timer.armed = never;
        if (timer.deadline <= Clock::now()) {
            timer.expired = true;
            asio::error_code fault;
            self->socket_.cancel(fault);
        } else if (timer.deadline != never) {
            self->arm(timer);
        }
    });
}

asio::awaitable<void> Connection::wait(IoDirection direction, WaitTimer& timer, Deadline deadline) {
    if (deadline <= Clock::now())
        throw PeerSilent("The peer did not answer in time.");
    this->set_deadline(timer, deadline);
    asio::error_code fault;
    co_await socket_.async_wait(direction == IoDirection::read ? asio::ip::tcp::socket::wait_read
                                                               : asio::ip::tcp::socket::wait_write,
                                asio::redirect_error(asio::use_awaitable, fault));
    timer.deadline = never;
    // A timeout cancels the waits of both directions; the other direction tries again.
    if (timer.expired)
        throw PeerSilent("The peer did not answer in time.");
    if (fault && !(fault == asio::error::operation_aborted && socket_.is_open()))
        throw PeerGone("The connection was closed.");
}

// ---- bytes ------------------------------------------------------------------------------------

asio::awaitable<void> Connection::secure(const TlsContext& context, ConnectionRole side,
                                         Deadline deadline) {
    tls_ = std::make_unique<TlsStream>(context, socket_.native_handle(), side);
    for (;;) {
        const IoDirection direction = tls_->handshake();
        if (direction == IoDirection::none)
            co_return;
        co_await wait(direction, direction == IoDirection::read ? read_timer_ : write_timer_,
                      deadline);
    }
}

asio::awaitable<std::optional<std::byte>> Connection::peek_first_byte(Deadline deadline) {
    std::byte first{};
    for (;;) {
        const IoResult peeked = try_peek(std::span(&first, 1));
        if (peeked.bytes > 0)
            co_return first;
        if (peeked.wait_for == IoDirection::none)
            co_return std::nullopt;
        co_await wait(peeked.wait_for, read_timer_, deadline);
    }
}

IoResult Connection::try_read(std::span<const iovec> to) {
    if (tls_)
        return tls_->read(to);
    msghdr header = header_of(to);
    return transfer(IoDirection::read, [&] { return ::recvmsg(handle(), &header, 0); });
}

IoResult Connection::try_write(std::span<const iovec> from) {
    if (tls_)
        return tls_->write(from);
    const msghdr header = header_of(from);
    return transfer(IoDirection::write, [&] { return ::sendmsg(handle(), &header, MSG_NOSIGNAL); });
}

asio::awaitable<std::size_t> Connection::read_some(std::span<const iovec> to, Deadline deadline) {
    std::size_t copied = 0;
    for (const iovec& buffer : to) {
        const std::size_t size = std::min(buffer.iov_len, input_end_ - input_begin_);
        if (size == 0)
            break;
        std::memcpy(buffer.iov_base, input_.data() + input_begin_, size);
        input_begin_ += size;
        copied += size;
    }
    if (copied > 0)
        co_return copied;
    for (;;) {
        const IoResult done = try_read(to);
        if (done.bytes > 0)
            co_return done.bytes;
        if (done.wait_for == IoDirection::none)
            throw_closed();
        co_await wait(done.wait_for, read_timer_, deadline);
    }
}

asio::awaitable<void> Connection::send(std::span<iovec> buffers, std::chrono::nanoseconds timeout) {
    for (buffers = drop(buffers, 0); !buffers.empty();) {
        const IoResult done = try_write(buffers);
        if (done.bytes > 0)
            buffers = drop(buffers, done.bytes);
        else if (done.wait_for == IoDirection::none)
            throw_closed();
        else
            co_await wait(done.wait_for, write_timer_, after(timeout));
    }
}

asio::awaitable<void> Connection::send(std::span<const std::byte> bytes,
                                       std::chrono::nanoseconds timeout) {
    iovec buffer{const_cast<std::byte*>(bytes.data()), bytes.size()};
    co_await send(std::span(&buffer, 1), timeout);
}

// ---- forwarded bytes ---------------------------------------------------------------------------

IoResult Connection::try_peek(std::span<std::byte> to) {
    if (has_input()) {
        const std::size_t size = std::min(to.size(), input_end_ - input_begin_);
        std::memcpy(to.data(), input_.data() + input_begin_, size);
        return {size, IoDirection::none};
    }
    if (!input_.empty()) // 16 KiB for each of many connections; no further message is received here
        std::vector<std::byte>().swap(input_);
    if (tls_)
        return tls_->peek(to);
    return transfer(IoDirection::read,
                    [&] { return ::recv(handle(), to.data(), to.size(), MSG_PEEK); });
}

void Connection::skip(std::size_t bytes) {
    const std::size_t kept = std::min(bytes, input_end_ - input_begin_);
    input_begin_ += kept;
    bytes -= kept;
    if (tls_ && bytes > 0) {
        tls_->skip(bytes);
        return;
    }
    while (bytes > 0) {
        // TCP discards them without a copy.
        const ssize_t got = ::recv(socket_.native_handle(), nullptr, bytes, MSG_TRUNC);
        if (got > 0)
            bytes -= static_cast<std::size_t>(got);
        else if (got == 0)
            throw_closed();
        else if (errno != EINTR)
            throw_cut(errno);
    }
}

std::size_t Connection::unread_bytes() const {
    int bytes = 0;
    if (!socket_.is_open() || ::ioctl(handle(), SIOCINQ, &bytes) != 0)
        return 0;
    return static_cast<std::size_t>(bytes) + (input_end_ - input_begin_);
}

std::size_t Connection::unacknowledged_bytes() const {
    int bytes = 0;
    if (!socket_.is_open() || ::ioctl(handle(), SIOCOUTQ, &bytes) != 0)
        return 0;
    return static_cast<std::size_t>(bytes);
}

void Connection::limit_receive_window(std::size_t bytes) {
    const int window = static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
    // The system enlarges the buffer and the window as a stream gets faster, at most fourfold at a
    // time, until the buffer is locked.
    int room = 0;
    socklen_t size = sizeof room;
    (void)::getsockopt(handle(), SOL_SOCKET, SO_RCVBUF, &room, &size);
    const bool enough = room >= window / 2;
    if (enough != window_locked_) {
        const int lock = enough ? receive_lock : 0;
        window_locked_ = enough;
        if (::setsockopt(handle(), SOL_SOCKET, SO_BUF_LOCK, &lock, sizeof lock) != 0 && enough)
            (void)::setsockopt(handle(), SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
    }
    (void)::setsockopt(handle(), IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof window);
}

// ---- messages ---------------------------------------------------------------------------------

/// Read until `input_` holds at least `bytes` bytes.
asio::awaitable<void> Connection::fill(std::size_t bytes, Deadline first,
                                       std::chrono::nanoseconds rest) {
    if (input_.empty())
        input_.resize(input_bytes);
    if (input_begin_ == input_end_)
        input_begin_ = input_end_ = 0;
    if (input_.size() - input_begin_ < bytes) {
        std::memmove(input_.data(), input_.data() + input_begin_, input_end_ - input_begin_);
        input_end_ -= input_begin_;
        input_begin_ = 0;
    }
    const auto later = [&] { return rest.count() == 0 ? first : after(rest); };
    Deadline deadline = input_end_ > input_begin_ ? later() : first;
    while (input_end_ - input_begin_ < bytes) {
        const iovec buffer{input_.data() + input_end_, input_.size() - input_end_};
        const IoResult done = try_read(std::span(&buffer, 1));
        if (done.bytes > 0) {
            if (input_end_ == input_begin_)
                deadline = later();
            input_end_ += done.bytes;
        } else if (done.wait_for == IoDirection::none) {
            throw_closed();
        } else {
            co_await wait(done.wait_for, read_timer_, deadline);
        }
    }
}

asio::awaitable<ReceivedMessage> Connection::receive(DecodeLimits limits, Deadline first,
                                                     std::chrono::nanoseconds rest) {
    co_await fill(FrameHeader::size, first, rest);
    ReceivedMessage received;
    const std::span<const std::byte> head(input_.data() + input_begin_, FrameHeader::size);
    received.frame = decode_frame_header(head.first<FrameHeader::size>(), limits);
    received.bytes.resize(FrameHeader::size + received.frame.length);
    const Deadline deadline = rest.count() == 0 ? first : after(rest);
    for (std::span<std::byte> left = received.bytes; !left.empty();) {
        const iovec buffer{left.data(), left.size()};
        left = left.subspan(co_await read_some(std::span(&buffer, 1), deadline));
    }
    co_return received;
}

// ---- the end ----------------------------------------------------------------------------------

void Connection::shutdown_send() noexcept {
    asio::error_code fault;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, fault);
}

bool Connection::delivered() const {
    int bytes = 0;
    return ::ioctl(handle(), SIOCOUTQ, &bytes) != 0 || bytes == 0;
}

void Connection::close() noexcept {
    asio::error_code fault;
    socket_.close(fault);
}

} // namespace uzushio::staging::socket
