#pragma once

#include <openssl/ssl.h>
#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "staging/transport/socket/secret.hpp"
#include "staging/transport/socket/transfer.hpp"

namespace uzushio::staging::socket {

/// What TLS connections of one stream share: TLS 1.3 alone, no certificates, and a key that is
/// derived from the secret, so that either side knows the other by it.
class TlsContext {
  public:
    explicit TlsContext(const Secret& secret); ///< throws StagingError
    [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

  private:
    struct Free {
        void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    };
    std::unique_ptr<Secret> key_; ///< where the callbacks find it
    std::unique_ptr<SSL_CTX, Free> context_;
};

enum class Side : std::uint8_t { accepts, connects };

/// TLS on one socket that does not block. Owns no socket, and never waits: see Transfer.
class TlsStream {
  public:
    TlsStream(const TlsContext& context, int socket, Side side);

    /// Go on with the handshake. Wants nothing when it is complete.
    [[nodiscard]] Want shake_hands();
    [[nodiscard]] Transfer read(std::span<const iovec> to);
    /// What is left of a record, at least: it stays to be read.
    [[nodiscard]] Transfer peek(std::span<std::byte> to);
    void skip(std::size_t bytes); ///< that `peek` has shown
    /// After a `want`, to be repeated with the same bytes.
    [[nodiscard]] Transfer write(std::span<const iovec> from);

  private:
    struct Free {
        void operator()(SSL* ssl) const { SSL_free(ssl); }
    };
    [[nodiscard]] Want want_after(int result);

    std::unique_ptr<SSL, Free> ssl_;
    std::vector<std::byte> packed_; ///< small buffers to be sent as one record
    std::size_t packed_sent_ = 0;
};

} // namespace uzushio::staging::socket
