#pragma once

#include <cstddef>
#include <cstdint>

namespace uzushio::staging::socket {

/// What a socket has to be ready for before a transfer can go on.
enum class Want : std::uint8_t { nothing, read, write };

/// How far one attempt to read or write came. No bytes while nothing is wanted: the other side has
/// closed.
struct Transfer {
    std::size_t bytes = 0;
    Want want = Want::nothing;
};

} // namespace uzushio::staging::socket
