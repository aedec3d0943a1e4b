#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <memory>
#include <string>

#include "staging/transport/socket/connection.hpp"
#include "staging/transport/socket/secret.hpp"
#include "staging/transport/socket/tls.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::socket {

/// Where to, and as whom.
struct Call {
    std::string address; ///< "host:port"
    Secret secret{};
    const TlsContext* tls = nullptr; ///< null: plain
    Hello hello;
};

/// A connection whose both sides have proved themselves.
struct Dialed {
    std::shared_ptr<Connection> connection;
    Hello peer;
};

/// Connect, through TLS if wanted, and shake hands. Throws PeerGone, Refused, PeerSilent or
/// StagingError, whose texts name the address.
[[nodiscard]] asio::awaitable<Dialed> dial(asio::io_context& io, Call call, Deadline deadline);

} // namespace uzushio::staging::socket
