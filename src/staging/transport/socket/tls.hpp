#pragma once

#include <openssl/ssl.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "staging/transport/socket/secret.hpp"

namespace uzushio::staging::socket {

/// Readiness of a socket that a transfer needs to continue.
enum class IoDirection : std::uint8_t { none, read, write };

/// Result of one attempt to read or write. Without bytes and without a direction, the peer has
/// closed.
struct IoResult {
    std::size_t bytes = 0;
    IoDirection wait_for = IoDirection::none;
};

/// Configuration of the TLS connections of one stream: TLS 1.3 only, no certificates, and a key
/// derived from the secret, which authenticates both sides.
class TlsContext {
  public:
    explicit TlsContext(const Secret& secret); ///< throws StagingError
    [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

  private:
    struct Free {
        void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    };
    std::unique_ptr<Secret> key_; ///< the callbacks refer to it
    std::unique_ptr<SSL_CTX, Free> context_;
};

enum class ConnectionRole : std::uint8_t { server, client };

/// TLS on one non-blocking socket, which it does not own. Never waits: see IoResult.
class TlsStream {
  public:
    TlsStream(const TlsContext& context, int socket, ConnectionRole side);

    /// Continue the handshake. Returns `none` when it is complete.
    [[nodiscard]] IoDirection handshake();
    [[nodiscard]] IoResult read(std::span<const iovec> to);
    /// Copy received data without consuming them: at least the rest of a record.
    [[nodiscard]] IoResult peek(std::span<std::byte> to);
    void skip(std::size_t bytes); ///< consume data that `peek` has returned
    /// If the result has a `wait_for`, repeat with the same bytes.
    [[nodiscard]] IoResult write(std::span<const iovec> from);

  private:
    struct Free {
        void operator()(SSL* ssl) const { SSL_free(ssl); }
    };
    [[nodiscard]] IoDirection direction_after(int result);

    std::unique_ptr<SSL, Free> ssl_;
    std::vector<std::byte> packed_; ///< small buffers, sent as one record
    std::size_t packed_sent_ = 0;
};

} // namespace uzushio::staging::socket
