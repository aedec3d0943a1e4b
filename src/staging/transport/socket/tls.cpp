#include "staging/transport/socket/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/socket/hmac.hpp"

namespace uzushio::staging::socket {
namespace {

constexpr std::string_view identity = "uzushio staging";
constexpr std::size_t record_bytes = 16384; ///< data bytes in one TLS record
constexpr std::size_t packed_bytes = 8 * record_bytes;

// OpenSSL's own socket BIO calls write(), which raises SIGPIPE after the peer's end.

int bio_socket(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int bio_write(BIO* bio, const char* data, int size) {
    const ssize_t put = ::send(bio_socket(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_write(bio);
    return static_cast<int>(put);
}

int bio_read(BIO* bio, char* data, int size) {
    const ssize_t got = ::recv(bio_socket(bio), data, static_cast<std::size_t>(size), 0);
    BIO_clear_retry_flags(bio);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_retry_read(bio);
    if (got == 0)
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return static_cast<int>(got);
}

long bio_control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF)
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* bio_method() {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "uzushio");
        if (made != nullptr) {
            BIO_meth_set_write(made, bio_write);
            BIO_meth_set_read(made, bio_read);
            BIO_meth_set_ctrl(made, bio_control);
        }
        return made;
    }();
    return method;
}

/// The shared key as a TLS 1.3 session, which is the form of external pre-shared keys.
SSL_SESSION* session_of(SSL* ssl) {
    static constexpr unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
    const auto* key = static_cast<const Secret*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
    SSL_SESSION* session = SSL_SESSION_new();
    if (session == nullptr || cipher == nullptr ||
        SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key->data()),
                                    key->size()) != 1 ||
        SSL_SESSION_set_cipher(session, cipher) != 1 ||
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
        SSL_SESSION_free(session);
        return nullptr;
    }
    return session;
}

int offer_key(SSL* ssl, const EVP_MD*, const unsigned char** id, std::size_t* id_size,
              SSL_SESSION** session) {
    *id = reinterpret_cast<const unsigned char*>(identity.data());
    *id_size = identity.size();
    *session = session_of(ssl);
    return *session != nullptr ? 1 : 0;
}

int find_key(SSL* ssl, const unsigned char* id, std::size_t id_size, SSL_SESSION** session) {
    const bool ours = std::string_view(reinterpret_cast<const char*>(id), id_size) == identity;
    *session = ours ? session_of(ssl) : nullptr;
    return !ours || *session != nullptr ? 1 : 0;
}

} // namespace

TlsContext::TlsContext(const Secret& secret)
    : key_(std::make_unique<Secret>(
          hmac(secret, std::as_bytes(std::span(std::string_view("uzushio staging: key of TLS")))))),
      context_(SSL_CTX_new(TLS_method())) {
    SSL_CTX* context = context_.get();
    require(context != nullptr && bio_method() != nullptr &&
                SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
                SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1 &&
                SSL_CTX_set_num_tickets(context, 0) == 1,
            "This OpenSSL does not support TLS 1.3: use a build that does, or no TLS.");
    SSL_CTX_set_app_data(context, key_.get());
    SSL_CTX_set_psk_use_session_callback(context, offer_key);
    SSL_CTX_set_psk_find_session_callback(context, find_key);
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

TlsStream::TlsStream(const TlsContext& context, int socket, ConnectionRole side)
    : ssl_(SSL_new(context.get())) {
    BIO* bio = BIO_new(bio_method());
    if (!ssl_ || bio == nullptr) {
        BIO_free(bio);
        throw StagingError("OpenSSL has no memory for a connection.");
    }
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio); // takes ownership
    if (side == ConnectionRole::server)
        SSL_set_accept_state(ssl_.get());
    else
        SSL_set_connect_state(ssl_.get());
}

IoDirection TlsStream::direction_after(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
        return IoDirection::read;
    case SSL_ERROR_WANT_WRITE:
        return IoDirection::write;
    case SSL_ERROR_ZERO_RETURN:
        return IoDirection::none;
    case SSL_ERROR_SYSCALL:
        throw PeerGone("The connection was interrupted.");
    default: {
        std::array<char, 256> text{};
        ERR_error_string_n(ERR_get_error(), text.data(), text.size());
        throw StagingError(sentence("TLS failed (", text.data(), ")."));
    }
    }
}

IoDirection TlsStream::handshake() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1)
        return IoDirection::none;
    const IoDirection direction = direction_after(result);
    if (direction == IoDirection::none)
        throw PeerGone("The connection was closed.");
    return direction;
}

IoResult TlsStream::read(std::span<const iovec> to) {
    IoResult done;
    for (const iovec& buffer : to)
        for (std::size_t at = 0; at < buffer.iov_len;) {
            std::size_t got = 0;
            ERR_clear_error();
            const int result = SSL_read_ex(ssl_.get(), static_cast<char*>(buffer.iov_base) + at,
                                           buffer.iov_len - at, &got);
            if (result != 1) {
                const IoDirection direction =
                    done.bytes > 0 ? IoDirection::none : direction_after(result);
                return {done.bytes, direction};
            }
            at += got;
            done.bytes += got;
        }
    return done;
}

IoResult TlsStream::peek(std::span<std::byte> to) {
    std::size_t got = 0;
    ERR_clear_error();
    const int result = SSL_peek_ex(ssl_.get(), to.data(), to.size(), &got);
    return result == 1 ? IoResult{got, IoDirection::none} : IoResult{0, direction_after(result)};
}

void TlsStream::skip(std::size_t bytes) {
    std::array<char, 16384> rest; // maximum size of a record
    while (bytes > 0) {
        std::size_t got = 0;
        ERR_clear_error();
        const int result = SSL_read_ex(ssl_.get(), rest.data(), std::min(bytes, rest.size()), &got);
        if (result != 1) {
            (void)direction_after(result);
            throw PeerGone("The connection was interrupted.");
        }
        bytes -= got;
    }
}

IoResult TlsStream::write(std::span<const iovec> from) {
    // Large buffers are passed to OpenSSL directly. Small ones are packed: there is no
    // scatter/gather, and one record for each would be slow.
    if (packed_.empty() && from.front().iov_len >= record_bytes) {
        std::size_t put = 0;
        ERR_clear_error();
        const int result =
            SSL_write_ex(ssl_.get(), from.front().iov_base, from.front().iov_len, &put);
        return result == 1 ? IoResult{put, IoDirection::none}
                           : IoResult{0, direction_after(result)};
    }
    if (packed_.empty())
        for (const iovec& buffer : from) {
            const auto* data = static_cast<const std::byte*>(buffer.iov_base);
            const std::size_t size = std::min(buffer.iov_len, packed_bytes - packed_.size());
            packed_.insert(packed_.end(), data, data + size);
        }
    while (packed_sent_ < packed_.size()) {
        std::size_t put = 0;
        ERR_clear_error();
        const int result = SSL_write_ex(ssl_.get(), packed_.data() + packed_sent_,
                                        packed_.size() - packed_sent_, &put);
        if (result != 1)
            return {0, direction_after(result)};
        packed_sent_ += put;
    }
    const IoResult done{packed_.size(), IoDirection::none};
    packed_.clear();
    packed_sent_ = 0;
    return done;
}

} // namespace uzushio::staging::socket
