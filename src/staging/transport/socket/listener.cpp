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

#include "staging/require.hpp"
#include "staging/transport/socket/address.hpp"

namespace uzushio::staging::socket {
namespace {

using asio::ip::tcp;

/// Minimum time of a connection before a new one may replace it.
constexpr auto protected_time = std::chrono::milliseconds(500);
constexpr auto full_pause = std::chrono::milliseconds(10);

/// Until file descriptors or memory are available again.
constexpr auto accept_pause = std::chrono::milliseconds(100);

tcp::endpoint endpoint_of(asio::io_context& io, const EngineOptions::Tcp& options,
                          std::uint32_t rank) {
    const std::uint32_t port = options.port == 0 ? 0 : options.port + rank;
    require(port <= 65535, "Rank ", rank, " would listen on port ", port,
            ", and ports end at 65535: choose a lower one.");
    asio::error_code fault;
    asio::ip::address address = asio::ip::make_address(options.listen, fault);
    if (fault) {
        const auto resolved =
            tcp::resolver(io).resolve(options.listen, "", tcp::resolver::passive, fault);
        require(!fault && !resolved.empty(), "There is no address ", options.listen,
                " on this machine to listen on (", fault.message(), ").");
        address = resolved.begin()->endpoint().address();
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
    require(!fault, "Cannot listen on ",
            to_text(Address{endpoint.address().to_string(), endpoint.port()}), ": ",
            fault.message(), ". Choose another address or port, or 0 for any that is free.");
    (void)::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    return acceptor;
}

/// Return the answer to a peer that begins without TLS.
Error uses_tls() {
    return {
        ErrorCode::authentication,
        "The writer uses TLS, and this side does not: attach by its contact file, or ask for TLS "
        "(tls=True, --tls)."};
}

std::string advertised_address(const EngineOptions::Tcp& options, const tcp::acceptor& acceptor) {
    const tcp::endpoint endpoint = acceptor.local_endpoint();
    std::string host = options.advertise;
    if (host.empty())
        host = endpoint.address().is_unspecified() ? asio::ip::host_name() : options.listen;
    return to_text(Address{host, endpoint.port()});
}

} // namespace

Listener::Listener(asio::io_context& io, const EngineOptions::Tcp& options, const Secret& secret,
                   Hello hello, AdmissionCheck check_admission, Serve serve)
    : io_(io), secret_(secret), hello_(std::move(hello)), admission_(std::move(check_admission)),
      serve_(std::move(serve)), acceptor_(listen(io, endpoint_of(io, options, hello_.rank))) {
    if (options.tls)
        tls_.emplace(secret);
    address_ = advertised_address(options, acceptor_);
}

void Listener::start() { asio::co_spawn(io_, accept_all(), asio::detached); }

void Listener::stop() noexcept {
    asio::error_code fault;
    acceptor_.close(fault);
    for (const UnauthenticatedPeer& peer : unauthenticated_)
        peer.connection->close();
}

asio::awaitable<void> Listener::accept_all() {
    while (acceptor_.is_open()) {
        asio::error_code fault;
        tcp::socket socket =
            co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, fault));
        asio::steady_timer pause(io_);
        while (is_full() && acceptor_.is_open()) {
            pause.expires_after(full_pause);
            co_await pause.async_wait(asio::use_awaitable);
        }
        if (!acceptor_.is_open())
            co_return;
        try {
            if (!fault) {
                auto connection = std::make_shared<Connection>(std::move(socket));
                asio::co_spawn(io_, handle_connection(std::move(connection)), asio::detached);
                continue;
            }
        } catch (const std::exception&) { // no memory: handled as no descriptors
        }
        pause.expires_after(accept_pause);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, fault));
    }
}

bool Listener::is_full() const {
    return unauthenticated_.size() >= max_unauthenticated &&
           Clock::now() < unauthenticated_.front().protected_until;
}

asio::awaitable<void> Listener::handle_connection(std::shared_ptr<Connection> connection) {
    if (unauthenticated_.size() >= max_unauthenticated)
        unauthenticated_.front().connection->close(); // its own coroutine removes it from the list
    const UnauthenticatedPeer peer{connection, after(protected_time)};
    const auto place = unauthenticated_.insert(unauthenticated_.end(), peer);
    const std::optional<Hello> hello = co_await authenticate(connection);
    unauthenticated_.erase(place);
    if (!hello) {
        connection->close();
        co_return;
    }
    ++peers_;
    try {
        co_await serve_(connection, *hello);
    } catch (const std::exception&) { // an error of this peer only
    }
    --peers_;
    connection->close();
}

/// Return the peer's Hello; nothing if authentication failed, with the reason sent to the peer.
asio::awaitable<std::optional<Hello>>
Listener::authenticate(std::shared_ptr<Connection> connection) {
    const Deadline deadline = after(handshake_timeout);
    const AdmissionCheck check_admission = [this](const Hello& theirs) -> std::optional<Error> {
        if (peers_ >= max_peers)
            return Error{ErrorCode::limit, sentence("The writer serves ", peers_,
                                                    " connections already, and takes no more.")};
        return admission_(theirs);
    };
    try {
        if (tls_) {
            if (co_await connection->peek_first_byte(deadline) == first_byte_of_frame) {
                co_await refuse(*connection, uses_tls(), deadline);
                co_return std::nullopt;
            }
            co_await connection->secure(*tls_, ConnectionRole::server, deadline);
        }
        co_return co_await authenticate_as_server(*connection, secret_, hello_, check_admission,
                                                  deadline);
    } catch (const std::exception&) {
        co_return std::nullopt;
    }
}

} // namespace uzushio::staging::socket
