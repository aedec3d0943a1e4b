#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "staging/transport/socket/address.hpp"
#include "staging/transport/socket/connect.hpp"
#include "staging/transport/socket/run_until_done.hpp"
#include "staging/wire/message_codec.hpp"

/// Peers that send arbitrary bytes and messages.
namespace uzushio::staging::testing {

using Bytes = std::vector<std::byte>;

/// TCP client that sends and receives bytes. Addresses are numeric.
class RawClient {
  public:
    explicit RawClient(const std::string& address) : RawClient() { connect(address); }
    /// Open a socket without connecting it, if a descriptor is available.
    RawClient() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {}
    explicit RawClient(int socket) : socket_(socket) {}
    RawClient(RawClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
    RawClient& operator=(RawClient&&) = delete;
    ~RawClient() {
        if (socket_ >= 0)
            ::close(socket_);
    }

    void connect(const std::string& address) {
        const auto place = *socket::parse_address(address);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(place.port);
        ::inet_pton(AF_INET, place.host.c_str(), &to.sin_addr);
        if (::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
            throw std::runtime_error("cannot connect");
    }
    /// Send bytes until the other side accepts no more.
    void send(std::span<const std::byte> bytes) const {
        while (!bytes.empty()) {
            const ssize_t put = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (put <= 0)
                return;
            bytes = bytes.subspan(static_cast<std::size_t>(put));
        }
    }
    /// Return the bytes received until the other side closes; nothing if it does not within
    /// `limit`.
    [[nodiscard]] std::optional<Bytes> until_closed(std::chrono::milliseconds limit) const {
        const auto end = std::chrono::steady_clock::now() + limit;
        Bytes all;
        for (;;) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            pollfd ready{socket_, POLLIN, 0};
            if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0)
                return {};
            Bytes some(4096);
            const ssize_t got = ::recv(socket_, some.data(), some.size(), 0);
            if (got <= 0)
                return all;
            all.insert(all.end(), some.begin(), some.begin() + got);
        }
    }
    [[nodiscard]] int get() const { return socket_; }

  private:
    int socket_;
};

/// Return the complete messages at the beginning of `bytes`.
inline std::vector<Message> messages_in(std::span<const std::byte> bytes) {
    std::vector<Message> messages;
    while (bytes.size() >= FrameHeader::size) {
        const FrameHeader frame = decode_frame_header(bytes.first<FrameHeader::size>());
        if (bytes.size() < FrameHeader::size + frame.length)
            break;
        messages.push_back(decode(frame, bytes.subspan(FrameHeader::size, frame.length)));
        bytes = bytes.subspan(FrameHeader::size + frame.length);
    }
    return messages;
}

/// Authenticated reader that sends arbitrary messages.
class RawReader {
  public:
    RawReader(const std::string& address, const socket::Secret& secret, const std::string& stream,
              Channel channel, std::uint32_t target = 0) {
        socket::ConnectTarget writer{address, secret, nullptr, {}};
        writer.hello.stream = stream;
        writer.hello.channel = channel;
        writer.hello.target = target;
        connection_ =
            socket::run_until_done(
                io_, socket::connect(io_, writer, socket::after(std::chrono::seconds(30))))
                .connection;
    }
    void send(const Message& message) { send(encode(message)); }
    void send(const Bytes& bytes) {
        socket::run_until_done(
            io_, connection_->send(std::span<const std::byte>(bytes), std::chrono::seconds(30)));
    }
    /// Throws PeerGone when the other side has closed.
    [[nodiscard]] Message receive(std::chrono::seconds limit = std::chrono::seconds(30)) {
        return socket::run_until_done(
                   io_, connection_->receive(DecodeLimits{}, socket::after(limit), limit))
            .message();
    }
    [[nodiscard]] Bytes receive_bytes(std::size_t number) {
        Bytes bytes(number);
        for (std::size_t at = 0; at < number;) {
            const iovec buffer{bytes.data() + at, number - at};
            at += socket::run_until_done(
                io_, connection_->read_some(std::span(&buffer, 1),
                                            socket::after(std::chrono::seconds(30))));
        }
        return bytes;
    }

  private:
    asio::io_context io_{1};
    std::shared_ptr<socket::Connection> connection_;
};

} // namespace uzushio::staging::testing
