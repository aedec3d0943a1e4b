#include "staging/transport/socket/secret.hpp"

#include <openssl/rand.h>

#include "staging/require.hpp"

namespace uzushio::staging::socket {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

} // namespace

Secret make_secret() {
    Secret secret;
    require(RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()),
                       static_cast<int>(secret.size())) == 1,
            "The system returned no random number for a secret.");
    return secret;
}

std::string to_text(const Secret& secret) {
    std::string text;
    for (const std::byte byte : secret) {
        text += digits[std::to_integer<std::size_t>(byte >> 4)];
        text += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
    }
    return text;
}

Secret parse_secret(std::string_view text) {
    Secret secret;
    const auto digit = [&](std::size_t i) {
        const char c = text[i] >= 'A' && text[i] <= 'F' ? static_cast<char>(text[i] | 32) : text[i];
        const std::size_t value = digits.find(c);
        require(value != std::string_view::npos,
                "A secret consists of 64 hexadecimal digits; character ", i + 1,
                " of the one given is none.");
        return static_cast<unsigned>(value);
    };
    require(text.size() == 2 * secret.size(),
            "A secret has 64 hexadecimal digits, as in the writer's contact file; "
            "the one given has ",
            text.size(), " characters.");
    for (std::size_t i = 0; i < secret.size(); ++i)
        secret[i] = static_cast<std::byte>(digit(2 * i) << 4 | digit(2 * i + 1));
    return secret;
}

} // namespace uzushio::staging::socket
