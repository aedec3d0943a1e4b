#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
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

/// Lets in who knows the secret. Peers that have not proved it are few, and have a few seconds and
/// a few kilobytes. When there are too many, the oldest goes for a new one, but each has the time
/// that a handshake takes: whoever knows the secret gets in, however many there are that do not.
class Listener {
  public:
    static constexpr std::size_t most_strangers = 128;
    static constexpr std::size_t most_peers = 1024;

    /// Takes a connection over from the handshake on; its end closes it. What it throws, closes the
    /// connection and nothing else.
    using Serve = std::function<asio::awaitable<void>(std::shared_ptr<Connection>, Hello)>;

    /// Listens at once, on `options.port + hello.rank` if a port is given, and takes connections
    /// in from `start` on. `io` is run by one thread, and must end before the listener. Throws
    /// StagingError if the address or port cannot be had.
    Listener(asio::io_context& io, const EngineOptions::Tcp& options, const Secret& secret,
             Hello hello, Screen screen, Serve serve);

    /// What readers are told.
    [[nodiscard]] const std::string& address() const { return address_; }
    /// What peers are told that the stream is called, from now on.
    void rename(std::string stream) { hello_.stream = std::move(stream); }
    /// On the thread that runs `io`.
    void start();
    void stop() noexcept;
    /// That have proved who they are, and are served now.
    [[nodiscard]] std::size_t peers() const { return peers_; }

  private:
    [[nodiscard]] asio::awaitable<void> accept_all();
    [[nodiscard]] asio::awaitable<void> welcome(std::shared_ptr<Connection> connection);
    [[nodiscard]] asio::awaitable<std::optional<Hello>>
    prove(std::shared_ptr<Connection> connection);

    asio::io_context& io_;
    Secret secret_;
    std::optional<TlsContext> tls_;
    Hello hello_;
    Screen screen_;
    Serve serve_;
    std::string address_;
    asio::ip::tcp::acceptor acceptor_;
    struct Stranger {
        std::shared_ptr<Connection> connection;
        Deadline spared; ///< until then
    };
    [[nodiscard]] bool crowded() const;
    std::list<Stranger> strangers_;
    std::size_t peers_ = 0;
};

} // namespace uzushio::staging::socket
