#include "staging/transport/socket/connect.hpp"

#include <algorithm>
#include <asio/ip/tcp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "staging/require.hpp"
#include "staging/signal_blocked_thread.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/socket/address.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/wire/decode_error.hpp"

namespace uzushio::staging::socket {
namespace {

using asio::ip::tcp;

/// Result of the thread, shared with the coroutine.
struct Lookup {
    asio::error_code fault;
    std::vector<tcp::endpoint> endpoints;
    std::atomic<bool> done = false;
};

void find(const Address& address, Lookup& lookup) {
    try {
        asio::io_context io;
        tcp::resolver resolver(io);
        const auto entries = resolver.resolve(address.host, std::to_string(address.port),
                                              tcp::resolver::numeric_service, lookup.fault);
        for (const auto& entry : entries)
            lookup.endpoints.push_back(entry.endpoint());
    } catch (const std::exception&) {
        lookup.fault = asio::error::no_memory;
    }
    lookup.done = true;
}

/// Return the endpoints of a host that is given by number or name. A name server that does not
/// answer blocks the system's look-up for half a minute; therefore a thread does it, which is
/// abandoned at the deadline or when the wait is cancelled. Throws PeerGone.
asio::awaitable<std::vector<tcp::endpoint>> resolve(Address address, Deadline deadline) {
    asio::error_code fault;
    const auto number = asio::ip::make_address(address.host, fault);
    if (!fault)
        co_return std::vector<tcp::endpoint>{{number, address.port}};

    const auto lookup = std::make_shared<Lookup>();
    start_signal_blocked_thread([address, lookup] { find(address, *lookup); }).detach();
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (auto pause = std::chrono::milliseconds(1); !lookup->done;
         pause = std::min(2 * pause, std::chrono::milliseconds(50))) {
        if (Clock::now() >= deadline)
            throw PeerGone("The address of the host " + address.host +
                           " was not found in time: check "
                           "this machine's name servers, or give the host's number.");
        timer.expires_after(pause);
        co_await timer.async_wait(asio::use_awaitable);
    }
    if (lookup->fault)
        throw PeerGone("There is no host " + address.host + " (" + lookup->fault.message() + ").");
    co_return lookup->endpoints;
}

asio::awaitable<tcp::socket> connect_tcp(asio::io_context& io, std::string name,
                                         Deadline deadline) {
    const auto address = parse_address(name);
    require(address.has_value(), "\"", name, "\" is not an address of the form host:port.");
    const auto endpoints = co_await resolve(*address, deadline);
    asio::error_code fault = asio::error::host_not_found;
    for (const tcp::endpoint& endpoint : endpoints) {
        auto socket = std::make_shared<tcp::socket>(io);
        asio::steady_timer timer(io, deadline);
        timer.async_wait([socket](const asio::error_code& aborted) {
            asio::error_code ignored;
            if (!aborted)
                socket->cancel(ignored);
        });
        co_await socket->async_connect(endpoint, asio::redirect_error(asio::use_awaitable, fault));
        if (!fault)
            co_return std::move(*socket);
        if (Clock::now() >= deadline)
            break;
    }
    require(fault != asio::error::no_descriptors && fault.value() != ENFILE, "No connection to ",
            name, " can be opened (", fault.message(),
            "): raise the number of files that this process may open (ulimit -n).");
    if (fault == asio::error::operation_aborted)
        throw PeerGone("No process answers at " + name + ".");
    throw PeerGone("No process listens at " + name + " (" + fault.message() + ").");
}

} // namespace

asio::awaitable<AuthenticatedConnection> connect(asio::io_context& io, ConnectTarget target,
                                                 Deadline deadline) {
    AuthenticatedConnection opened;
    opened.connection =
        std::make_shared<Connection>(co_await connect_tcp(io, target.address, deadline));
    // A control connection is retried elsewhere after a short time; a data connection waits for its
    // rank.
    const bool searching = target.hello.channel == Channel::control;
    const Deadline end = searching ? std::min(deadline, after(handshake_timeout)) : deadline;
    const std::string where = " (at " + target.address + ")";
    try {
        if (target.tls != nullptr)
            co_await opened.connection->secure(*target.tls, ConnectionRole::client, end);
        opened.peer =
            co_await authenticate_as_client(*opened.connection, target.secret, target.hello, end);
        co_return opened;
    } catch (const Refused& refused) {
        throw Refused(refused.code(), refused.what() + where);
    } catch (const PeerSilent&) {
        throw PeerSilent("The process at " + target.address +
                         " accepts connections, but does not answer as a writer.");
    } catch (const PeerGone&) {
        throw PeerGone("The process at " + target.address +
                       " closed the connection before the handshake was complete: it is ending, " +
                       (target.tls == nullptr ? "or it uses TLS, and this side does not."
                                              : "or it does not use TLS, and this side does."));
    } catch (const DecodeError&) {
        throw StagingError("The process at " + target.address +
                           " does not use the staging protocol; or it uses TLS, and this side "
                           "does not.");
    } catch (const StagingError& fault) {
        if (target.tls == nullptr)
            throw;
        throw Refused(ErrorCode::authentication,
                      "A TLS connection to the process at " + target.address +
                          " failed: its secret is another one, or it does not use TLS. " +
                          fault.what());
    }
}

} // namespace uzushio::staging::socket
