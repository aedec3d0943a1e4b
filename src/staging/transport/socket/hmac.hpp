#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "staging/transport/socket/secret.hpp"

namespace uzushio::staging::socket {

using AuthCode = std::array<std::byte, 32>;

/// Return the HMAC-SHA256 of a text with the secret as key. Throws StagingError if OpenSSL cannot.
[[nodiscard]] AuthCode hmac(const Secret& key, std::span<const std::byte> text);

/// Return whether two codes are equal, in a time that does not depend on their content.
[[nodiscard]] bool equal_in_constant_time(const AuthCode& a, const AuthCode& b);

} // namespace uzushio::staging::socket
