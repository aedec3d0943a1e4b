#include "staging/transport/socket/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "staging/staging_error.hpp"
#include "staging/transport/socket/hmac.hpp"

namespace uzushio::staging::socket {
namespace {

constexpr std::string_view identity = "uzushio staging";
constexpr std::size_t record_bytes = 16384; ///< of data in one TLS record
constexpr std::size_t packed_bytes = 8 * record_bytes;

// OpenSSL's own socket BIO calls write(), and a peer that is gone would end the process by SIGPIPE.

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

/// The shared key in the form in which TLS 1.3 takes it: a session that never was.
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
    if (context == nullptr || bio_method() == nullptr ||
        SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1 ||
        SSL_CTX_set_num_tickets(context, 0) != 1)
        throw StagingError("OpenSSL cannot do TLS 1.3: use a build that can, or no TLS.");
    SSL_CTX_set_app_data(context, key_.get());
    SSL_CTX_set_psk_use_session_callback(context, offer_key);
    SSL_CTX_set_psk_find_session_callback(context, find_key);
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

TlsStream::TlsStream(const TlsContext& context, int socket, Side side)
    : ssl_(SSL_new(context.get())) {
    BIO* bio = BIO_new(bio_method());
    if (!ssl_ || bio == nullptr) {
        BIO_free(bio);
        throw StagingError("OpenSSL has no memory for a connection.");
    }
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio); // owns it from here on
    if (side == Side::accepts)
        SSL_set_accept_state(ssl_.get());
    else
        SSL_set_connect_state(ssl_.get());
}

Want TlsStream::want_after(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
        return Want::read;
    case SSL_ERROR_WANT_WRITE:
        return Want::write;
    case SSL_ERROR_ZERO_RETURN:
        return Want::nothing;
    case SSL_ERROR_SYSCALL:
        throw PeerGone("The connection was cut.");
    default: {
        std::array<char, 256> text{};
        ERR_error_string_n(ERR_get_error(), text.data(), text.size());
        throw StagingError("TLS failed (" + std::string(text.data()) + ").");
    }
    }
}

Want TlsStream::shake_hands() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1)
        return Want::nothing;
    const Want want = want_after(result);
    if (want == Want::nothing)
        throw PeerGone("The connection was closed.");
    return want;
}

Transfer TlsStream::read(std::span<const iovec> to) {
    Transfer done;
    for (const iovec& buffer : to)
        for (std::size_t at = 0; at < buffer.iov_len;) {
            std::size_t got = 0;
            ERR_clear_error();
            const int result = SSL_read_ex(ssl_.get(), static_cast<char*>(buffer.iov_base) + at,
                                           buffer.iov_len - at, &got);
            if (result != 1) {
                const Want want = done.bytes > 0 ? Want::nothing : want_after(result);
                return {done.bytes, want};
            }
            at += got;
            done.bytes += got;
        }
    return done;
}

Transfer TlsStream::peek(std::span<std::byte> to) {
    std::size_t got = 0;
    ERR_clear_error();
    const int result = SSL_peek_ex(ssl_.get(), to.data(), to.size(), &got);
    return result == 1 ? Transfer{got, Want::nothing} : Transfer{0, want_after(result)};
}

void TlsStream::skip(std::size_t bytes) {
    std::array<char, 16384> rest; // a record is no longer
    while (bytes > 0) {
        std::size_t got = 0;
        ERR_clear_error();
        const int result = SSL_read_ex(ssl_.get(), rest.data(), std::min(bytes, rest.size()), &got);
        if (result != 1) {
            (void)want_after(result);
            throw PeerGone("The connection was cut.");
        }
        bytes -= got;
    }
}

Transfer TlsStream::write(std::span<const iovec> from) {
    // A large buffer goes to OpenSSL as it is, small ones are packed: one record for each would be
    // slow, and there is no scatter/gather.
    if (packed_.empty() && from.front().iov_len >= record_bytes) {
        std::size_t put = 0;
        ERR_clear_error();
        const int result =
            SSL_write_ex(ssl_.get(), from.front().iov_base, from.front().iov_len, &put);
        return result == 1 ? Transfer{put, Want::nothing} : Transfer{0, want_after(result)};
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
            return {0, want_after(result)};
        packed_sent_ += put;
    }
    const Transfer done{packed_.size(), Want::nothing};
    packed_.clear();
    packed_sent_ = 0;
    return done;
}

} // namespace uzushio::staging::socket
