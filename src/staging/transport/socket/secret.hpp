#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

/// Streams over TCP connections: engines tcp and shm, and relays.
namespace uzushio::staging::socket {

/// What a writer and its readers know and nobody else: whoever has it may read the stream.
using Secret = std::array<std::byte, 32>;

/// A new one, from the system's source of randomness. Throws StagingError if that fails.
[[nodiscard]] Secret make_secret();

/// In hexadecimal, 64 digits.
[[nodiscard]] std::string to_text(const Secret& secret);

/// From hexadecimal. Throws StagingError, which never quotes the text, unless it is 64 digits.
[[nodiscard]] Secret parse_secret(std::string_view text);

} // namespace uzushio::staging::socket
