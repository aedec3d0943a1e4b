#include "staging/transport/socket/dial.hpp"

#include <asio/ip/tcp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "staging/transport/socket/address.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/transport/socket/lookup.hpp"
#include "staging/wire/decode_error.hpp"

namespace uzushio::staging::socket {
namespace {

using asio::ip::tcp;

asio::awaitable<tcp::socket> connect(asio::io_context& io, std::string name, Deadline deadline) {
    const auto address = parse_address(name);
    if (!address)
        throw StagingError("\"" + name + "\" is not an address: host:port is expected.");
    const auto endpoints = co_await look_up(*address, deadline);
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
    if (fault == asio::error::no_descriptors || fault.value() == ENFILE)
        throw StagingError("No connection to " + name + " can be opened (" + fault.message() +
                           "): raise the number of files that this process may open (ulimit -n).");
    if (fault == asio::error::operation_aborted)
        throw PeerGone("Nothing answers at " + name + ".");
    throw PeerGone("Nobody listens at " + name + " (" + fault.message() + ").");
}

} // namespace

asio::awaitable<Dialed> dial(asio::io_context& io, Call call, Deadline deadline) {
    Dialed dialed;
    dialed.connection = std::make_shared<Connection>(co_await connect(io, call.address, deadline));
    // Who looks for a writer may find another one meanwhile; who asks a rank for data waits for it.
    const bool searching = call.hello.channel == Channel::control;
    const Deadline end = searching ? std::min(deadline, after(handshake_limit)) : deadline;
    const std::string where = " (at " + call.address + ")";
    try {
        if (call.tls != nullptr)
            co_await dialed.connection->secure(*call.tls, Side::connects, end);
        dialed.peer = co_await greet(*dialed.connection, call.secret, call.hello, end);
        co_return dialed;
    } catch (const Refused& refused) {
        throw Refused(refused.code(), refused.what() + where);
    } catch (const PeerSilent&) {
        throw PeerSilent("What listens at " + call.address + " does not answer as a writer does.");
    } catch (const PeerGone&) {
        throw PeerGone("What listens at " + call.address +
                       " closed the connection before it had shown who it is: it is just ending, " +
                       (call.tls == nullptr ? "or it uses TLS, and this side does not."
                                            : "or it does not use TLS, and this side does."));
    } catch (const DecodeError&) {
        throw StagingError("What listens at " + call.address +
                           " does not speak the protocol of staging; or it uses TLS, and this "
                           "side does not.");
    } catch (const StagingError& fault) {
        if (call.tls == nullptr)
            throw;
        throw Refused(ErrorCode::authentication,
                      "There is no TLS connection with what listens at " + call.address +
                          ": its secret is another one, or it does not use TLS. " + fault.what());
    }
}

} // namespace uzushio::staging::socket
