#include "staging/transport/socket/connection.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
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
#include "staging/wire/decode_error.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

/// Large enough for many requests, small enough that what comes with a message's frame, and is
/// copied once more, is nothing beside a part of a piece.
constexpr std::size_t input_bytes = 16384;

constexpr int receive_lock = 2; // of Linux, in no header of the C library

[[noreturn]] void cut(int error) {
    throw PeerGone("The connection was cut (" + std::generic_category().message(error) + ").");
}

/// Ask the system to move bytes until it says how many it has, or that one has to wait for `want`.
template <class Call> Transfer transfer(Want want, Call&& call) {
    for (;;) {
        const ssize_t bytes = call();
        if (bytes >= 0)
            return {static_cast<std::size_t>(bytes), Want::nothing};
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return {0, want};
        if (errno != EINTR)
            cut(errno);
    }
}

/// For sendmsg and recvmsg, which change none of it.
msghdr header_of(std::span<const iovec> buffers) {
    msghdr header{};
    header.msg_iov = const_cast<iovec*>(buffers.data());
    header.msg_iovlen = buffers.size();
    return header;
}

[[noreturn]] void closed() { throw PeerGone("The connection was closed by the other side."); }

/// Buffers of a connection within the machine. What is under way between two threads then stays in
/// the processor's cache: the system's own choice, which grows to many megabytes, is slower by a
/// third, and right where the way is long.
constexpr int near_send_bytes = 256 << 10;
constexpr int near_receive_bytes = 512 << 10;

bool is_near(const asio::ip::tcp::socket& socket) {
    asio::error_code fault;
    const auto here = socket.local_endpoint(fault).address();
    return !fault && here == socket.remote_endpoint(fault).address() && !fault;
}

/// A peer whose machine is gone sends nothing, and would be waited for without end.
void set_options(int socket, bool near) {
    const auto set = [&](int level, int name, int value) {
        (void)::setsockopt(socket, level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 20);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set(IPPROTO_TCP, TCP_KEEPCNT, 4);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
    if (near) {
        set(SOL_SOCKET, SO_SNDBUF, near_send_bytes);
        set(SOL_SOCKET, SO_RCVBUF, near_receive_bytes);
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

Message Incoming::message(const Limits& limits) const {
    return decode(frame, std::span(bytes).subspan(Frame::size), limits);
}

Connection::Connection(asio::ip::tcp::socket socket)
    : socket_(std::move(socket)), reading_(socket_.get_executor()),
      writing_(socket_.get_executor()), peer_(name_of(socket_)) {
    asio::error_code fault;
    socket_.native_non_blocking(true, fault);
    set_options(socket_.native_handle(), is_near(socket_));
}

// ---- waiting ----------------------------------------------------------------------------------

void Connection::watch(Watch& watch, Deadline deadline) {
    watch.deadline = deadline;
    watch.expired = false;
    if (deadline < watch.armed)
        arm(watch);
}

void Connection::arm(Watch& watch) {
    watch.armed = watch.deadline;
    watch.timer.expires_at(watch.deadline);
    // `watch` is a member: it lives as long as the connection, which the weak pointer knows.
    watch.timer.async_wait([weak = weak_from_this(), &watch](const asio::error_code& aborted) {
        const auto self = weak.lock();
        if (aborted || !self)
            return;
        watch.armed = never;
        if (watch.deadline <= Clock::now()) {
            watch.expired = true;
            asio::error_code fault;
            self->socket_.cancel(fault);
        } else if (watch.deadline != never) {
            self->arm(watch);
        }
    });
}

asio::awaitable<void> Connection::wait(Want want, Watch& watch, Deadline deadline) {
    if (deadline <= Clock::now())
        throw PeerSilent("The other side did not answer in time.");
    this->watch(watch, deadline);
    asio::error_code fault;
    co_await socket_.async_wait(want == Want::read ? asio::ip::tcp::socket::wait_read
                                                   : asio::ip::tcp::socket::wait_write,
                                asio::redirect_error(asio::use_awaitable, fault));
    watch.deadline = never;
    // Both directions are cancelled when one has waited in vain: the other one looks again.
    if (watch.expired)
        throw PeerSilent("The other side did not answer in time.");
    if (fault && !(fault == asio::error::operation_aborted && socket_.is_open()))
        throw PeerGone("The connection was closed.");
}

// ---- bytes ------------------------------------------------------------------------------------

asio::awaitable<void> Connection::secure(const TlsContext& context, Side side, Deadline deadline) {
    tls_ = std::make_unique<TlsStream>(context, socket_.native_handle(), side);
    for (;;) {
        const Want want = tls_->shake_hands();
        if (want == Want::nothing)
            co_return;
        co_await wait(want, want == Want::read ? reading_ : writing_, deadline);
    }
}

Transfer Connection::try_read(std::span<const iovec> to) {
    if (tls_)
        return tls_->read(to);
    msghdr header = header_of(to);
    return transfer(Want::read, [&] { return ::recvmsg(handle(), &header, 0); });
}

Transfer Connection::try_write(std::span<const iovec> from) {
    if (tls_)
        return tls_->write(from);
    const msghdr header = header_of(from);
    return transfer(Want::write, [&] { return ::sendmsg(handle(), &header, MSG_NOSIGNAL); });
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
        const Transfer done = try_read(to);
        if (done.bytes > 0)
            co_return done.bytes;
        if (done.want == Want::nothing)
            closed();
        co_await wait(done.want, reading_, deadline);
    }
}

asio::awaitable<std::size_t> Connection::write_some(std::span<const iovec> from,
                                                    Deadline deadline) {
    for (;;) {
        const Transfer done = try_write(from);
        if (done.bytes > 0)
            co_return done.bytes;
        if (done.want == Want::nothing)
            closed();
        co_await wait(done.want, writing_, deadline);
    }
}

asio::awaitable<void> Connection::send(std::span<iovec> buffers,
                                       std::chrono::nanoseconds patience) {
    for (buffers = drop(buffers, 0); !buffers.empty();) {
        const Transfer done = try_write(buffers);
        if (done.bytes > 0)
            buffers = drop(buffers, done.bytes);
        else if (done.want == Want::nothing)
            closed();
        else
            co_await wait(done.want, writing_, after(patience));
    }
}

asio::awaitable<void> Connection::send(std::span<const std::byte> bytes,
                                       std::chrono::nanoseconds patience) {
    iovec buffer{const_cast<std::byte*>(bytes.data()), bytes.size()};
    co_await send(std::span(&buffer, 1), patience);
}

// ---- bytes that are passed on ------------------------------------------------------------------

Transfer Connection::try_peek(std::span<std::byte> to) {
    if (has_input()) {
        const std::size_t size = std::min(to.size(), input_end_ - input_begin_);
        std::memcpy(to.data(), input_.data() + input_begin_, size);
        return {size, Want::nothing};
    }
    if (!input_.empty()) // no more messages: 16 KiB for each of many connections are not little
        std::vector<std::byte>().swap(input_);
    if (tls_)
        return tls_->peek(to);
    return transfer(Want::read, [&] { return ::recv(handle(), to.data(), to.size(), MSG_PEEK); });
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
        // TCP lets go of them without a copy.
        const ssize_t got = ::recv(socket_.native_handle(), nullptr, bytes, MSG_TRUNC);
        if (got > 0)
            bytes -= static_cast<std::size_t>(got);
        else if (got == 0)
            closed();
        else if (errno != EINTR)
            cut(errno);
    }
}

std::size_t Connection::held_in() const {
    int bytes = 0;
    if (!socket_.is_open() || ::ioctl(handle(), SIOCINQ, &bytes) != 0)
        return 0;
    return static_cast<std::size_t>(bytes) + (input_end_ - input_begin_);
}

std::size_t Connection::held_out() const {
    int bytes = 0;
    if (!socket_.is_open() || ::ioctl(handle(), SIOCOUTQ, &bytes) != 0)
        return 0;
    return static_cast<std::size_t>(bytes);
}

void Connection::limit_ahead(std::size_t bytes) {
    const int window = static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
    // The system makes room, and raises the window, as a stream gets faster: at most fourfold at a
    // time, until that is locked.
    int room = 0;
    socklen_t size = sizeof room;
    (void)::getsockopt(handle(), SOL_SOCKET, SO_RCVBUF, &room, &size);
    const bool enough = room >= window / 2;
    if (enough != locked_) {
        const int lock = enough ? receive_lock : 0;
        locked_ = enough;
        if (::setsockopt(handle(), SOL_SOCKET, SO_BUF_LOCK, &lock, sizeof lock) != 0 && enough)
            (void)::setsockopt(handle(), SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
    }
    (void)::setsockopt(handle(), IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof window);
}

// ---- messages ---------------------------------------------------------------------------------

/// Have at least so many bytes in `input_`.
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
        const Transfer done = try_read(std::span(&buffer, 1));
        if (done.bytes > 0) {
            if (input_end_ == input_begin_)
                deadline = later();
            input_end_ += done.bytes;
        } else if (done.want == Want::nothing) {
            closed();
        } else {
            co_await wait(done.want, reading_, deadline);
        }
    }
}

asio::awaitable<Incoming> Connection::receive(Limits limits, Deadline first,
                                              std::chrono::nanoseconds rest) {
    co_await fill(Frame::size, first, rest);
    Incoming incoming;
    const std::span<const std::byte> head(input_.data() + input_begin_, Frame::size);
    incoming.frame = decode_frame(head.first<Frame::size>(), limits);
    incoming.bytes.resize(Frame::size + incoming.frame.length);
    const Deadline deadline = rest.count() == 0 ? first : after(rest);
    for (std::span<std::byte> left = incoming.bytes; !left.empty();) {
        const iovec buffer{left.data(), left.size()};
        left = left.subspan(co_await read_some(std::span(&buffer, 1), deadline));
    }
    co_return incoming;
}

// ---- the end ----------------------------------------------------------------------------------

void Connection::finish() noexcept {
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
