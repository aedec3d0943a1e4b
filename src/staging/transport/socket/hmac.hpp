#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "staging/transport/socket/secret.hpp"

namespace uzushio::staging::socket {

using Code = std::array<std::byte, 32>;

/// HMAC-SHA256 of a text with the secret as key. Throws StagingError if OpenSSL cannot.
[[nodiscard]] Code hmac(const Secret& key, std::span<const std::byte> text);

/// Whether they are equal, in a time that does not tell where they differ.
[[nodiscard]] bool same(const Code& a, const Code& b);

} // namespace uzushio::staging::socket
