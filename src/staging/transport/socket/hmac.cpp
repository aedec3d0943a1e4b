#include "staging/transport/socket/hmac.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "staging/require.hpp"

namespace uzushio::staging::socket {

AuthCode hmac(const Secret& key, std::span<const std::byte> text) {
    AuthCode code;
    std::size_t size = 0;
    require(EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(),
                      reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                      reinterpret_cast<unsigned char*>(code.data()), code.size(),
                      &size) != nullptr &&
                size == code.size(),
            "OpenSSL cannot compute HMAC-SHA256, which staging needs.");
    return code;
}

bool equal_in_constant_time(const AuthCode& a, const AuthCode& b) {
    return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

} // namespace uzushio::staging::socket
