#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

/// Streams over TCP connections: engines tcp and shm, and relays.
namespace uzushio::staging::socket {

/// Secret shared by a writer and its readers; it gives access to the stream.
using Secret = std::array<std::byte, 32>;

/// Make a random secret. Throws StagingError if the system cannot.
[[nodiscard]] Secret make_secret();

/// Return the secret as 64 hexadecimal digits.
[[nodiscard]] std::string to_text(const Secret& secret);

/// Parse 64 hexadecimal digits. Throws StagingError, which never contains the text, otherwise.
[[nodiscard]] Secret parse_secret(std::string_view text);

} // namespace uzushio::staging::socket
