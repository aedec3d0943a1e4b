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

/// Address of a peer, and the Hello to send.
struct ConnectTarget {
    std::string address; ///< "host:port"
    Secret secret{};
    const TlsContext* tls = nullptr; ///< null: plain
    Hello hello;
};

/// Connection with a completed handshake.
struct AuthenticatedConnection {
    std::shared_ptr<Connection> connection;
    Hello peer;
};

/// Connect, start TLS if configured, and authenticate. Throws PeerGone, Refused, PeerSilent or
/// StagingError, whose texts contain the address.
[[nodiscard]] asio::awaitable<AuthenticatedConnection>
connect(asio::io_context& io, ConnectTarget target, Deadline deadline);

} // namespace uzushio::staging::socket
