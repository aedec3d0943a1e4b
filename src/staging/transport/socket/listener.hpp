#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "staging/engine_options.hpp"
#include "staging/transport/socket/connection.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/transport/socket/secret.hpp"
#include "staging/transport/socket/tls.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::socket {

/// Listener for authenticated peers. The number, time and memory of unauthenticated connections are
/// limited. When there are too many, a new one replaces the oldest one, but not before that had
/// time for a handshake: a peer that knows the secret is always admitted.
class Listener {
  public:
    static constexpr std::size_t max_unauthenticated = 128;
    static constexpr std::size_t max_peers = 1024;

    /// Serves a connection after the handshake; the connection is closed when it ends. An exception
    /// closes only this connection.
    using Serve = std::function<asio::awaitable<void>(std::shared_ptr<Connection>, Hello)>;

    /// Listens at once, on `options.port + hello.rank` if a port is given, and accepts connections
    /// from `start` on. `io` is run by one thread, and must end before the listener. Throws
    /// StagingError if the address or port is not available.
    Listener(asio::io_context& io, const EngineOptions::Tcp& options, const Secret& secret,
             Hello hello, AdmissionCheck check_admission, Serve serve);

    /// Address for readers.
    [[nodiscard]] const std::string& address() const { return address_; }
    /// Set the name of the stream in further handshakes.
    void set_stream(std::string stream) { hello_.stream = std::move(stream); }
    /// On the thread that runs `io`.
    void start();
    void stop() noexcept;

  private:
    [[nodiscard]] asio::awaitable<void> accept_all();
    [[nodiscard]] asio::awaitable<void> handle_connection(std::shared_ptr<Connection> connection);
    [[nodiscard]] asio::awaitable<std::optional<Hello>>
    authenticate(std::shared_ptr<Connection> connection);

    asio::io_context& io_;
    Secret secret_;
    std::optional<TlsContext> tls_;
    Hello hello_;
    AdmissionCheck admission_;
    Serve serve_;
    std::string address_;
    asio::ip::tcp::acceptor acceptor_;
    struct UnauthenticatedPeer {
        std::shared_ptr<Connection> connection;
        Deadline protected_until; ///< not replaced before
    };
    [[nodiscard]] bool is_full() const;
    std::list<UnauthenticatedPeer> unauthenticated_;
    std::size_t peers_ = 0; ///< authenticated, being served
};

} // namespace uzushio::staging::socket
