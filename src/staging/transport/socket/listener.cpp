#include "staging/transport/socket/listener.hpp"

#include <fcntl.h>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/ip/host_name.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "staging/staging_error.hpp"
#include "staging/transport/socket/address.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

using asio::ip::tcp;

/// A stranger keeps its place for so long, even in a crowd.
constexpr auto sparing_time = std::chrono::milliseconds(500);
constexpr auto crowd_pause = std::chrono::milliseconds(10);

/// Until file descriptors or memory are there again.
constexpr auto accept_pause = std::chrono::milliseconds(100);

tcp::endpoint endpoint_of(asio::io_context& io, const EngineOptions::Tcp& options,
                          std::uint32_t rank) {
    const std::uint32_t port = options.port == 0 ? 0 : options.port + rank;
    if (port > 65535)
        throw StagingError("Rank " + std::to_string(rank) + " would listen on port " +
                           std::to_string(port) + ", and ports end at 65535: choose a lower one.");
    asio::error_code fault;
    asio::ip::address address = asio::ip::make_address(options.listen, fault);
    if (fault) {
        const auto found =
            tcp::resolver(io).resolve(options.listen, "", tcp::resolver::passive, fault);
        if (fault || found.empty())
            throw StagingError("There is no address " + options.listen +
                               " on this machine to listen on (" + fault.message() + ").");
        address = found.begin()->endpoint().address();
    }
    return {address, static_cast<std::uint16_t>(port)};
}

tcp::acceptor listen(asio::io_context& io, const tcp::endpoint& endpoint) {
    asio::error_code fault;
    tcp::acceptor acceptor(io);
    acceptor.open(endpoint.protocol(), fault);
    if (!fault)
        acceptor.set_option(tcp::acceptor::reuse_address(true), fault);
    if (!fault)
        acceptor.bind(endpoint, fault);
    if (!fault)
        acceptor.listen(asio::socket_base::max_listen_connections, fault);
    if (fault)
        throw StagingError("Cannot listen on " +
                           to_text(Address{endpoint.address().to_string(), endpoint.port()}) +
                           ": " + fault.message() +
                           ". Choose another address or port, or 0 for any that is free.");
    (void)::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    return acceptor;
}

std::string told(const EngineOptions::Tcp& options, const tcp::acceptor& acceptor) {
    const tcp::endpoint endpoint = acceptor.local_endpoint();
    std::string host = options.advertise;
    if (host.empty())
        host = endpoint.address().is_unspecified() ? asio::ip::host_name() : options.listen;
    return to_text(Address{host, endpoint.port()});
}

} // namespace

Listener::Listener(asio::io_context& io, const EngineOptions::Tcp& options, const Secret& secret,
                   Hello hello, Screen screen, Serve serve)
    : io_(io), secret_(secret), hello_(std::move(hello)), screen_(std::move(screen)),
      serve_(std::move(serve)), acceptor_(listen(io, endpoint_of(io, options, hello_.rank))) {
    if (options.tls)
        tls_.emplace(secret);
    address_ = told(options, acceptor_);
}

void Listener::start() { asio::co_spawn(io_, accept_all(), asio::detached); }

void Listener::stop() noexcept {
    asio::error_code fault;
    acceptor_.close(fault);
    for (const Stranger& stranger : strangers_)
        stranger.connection->close();
}

asio::awaitable<void> Listener::accept_all() {
    while (acceptor_.is_open()) {
        asio::error_code fault;
        tcp::socket socket =
            co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, fault));
        asio::steady_timer pause(io_);
        while (crowded() && acceptor_.is_open()) {
            pause.expires_after(crowd_pause);
            co_await pause.async_wait(asio::use_awaitable);
        }
        if (!acceptor_.is_open())
            co_return;
        try {
            if (!fault) {
                auto connection = std::make_shared<Connection>(std::move(socket));
                asio::co_spawn(io_, welcome(std::move(connection)), asio::detached);
                continue;
            }
        } catch (const std::exception&) { // no memory: the same as no descriptors
        }
        pause.expires_after(accept_pause);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, fault));
    }
}

bool Listener::crowded() const {
    return strangers_.size() >= most_strangers && Clock::now() < strangers_.front().spared;
}

asio::awaitable<void> Listener::welcome(std::shared_ptr<Connection> connection) {
    if (strangers_.size() >= most_strangers)
        strangers_.front().connection->close(); // its own coroutine takes it off the list
    const Stranger stranger{connection, after(sparing_time)};
    const auto place = strangers_.insert(strangers_.end(), stranger);
    const std::optional<Hello> hello = co_await prove(connection);
    strangers_.erase(place);
    if (!hello) {
        connection->close();
        co_return;
    }
    ++peers_;
    try {
        co_await serve_(connection, *hello);
    } catch (const std::exception&) { // of this peer alone
    }
    --peers_;
    connection->close();
}

/// Nothing if the peer could not prove itself; it was told so.
asio::awaitable<std::optional<Hello>> Listener::prove(std::shared_ptr<Connection> connection) {
    const Deadline deadline = after(handshake_limit);
    const Screen screen = [this](const Hello& theirs) -> std::optional<Error> {
        if (peers_ >= most_peers)
            return Error{ErrorCode::limit, "The writer serves " + std::to_string(peers_) +
                                               " connections already, and takes no more."};
        return screen_(theirs);
    };
    try {
        if (tls_)
            co_await connection->secure(*tls_, Side::accepts, deadline);
        co_return co_await accept(*connection, secret_, hello_, screen, deadline);
    } catch (const std::exception&) {
        co_return std::nullopt;
    }
}

} // namespace uzushio::staging::socket
