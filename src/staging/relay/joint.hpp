#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <cstdint>
#include <memory>

#include "staging/relay/allowance.hpp"
#include "staging/transport/socket/connection.hpp"

namespace uzushio::staging::relay {

/// Which side of a relay: towards the writer, or towards readers.
enum class Stream : std::uint8_t { up, down };

/// Pass all bytes of either connection on to the other one as they come, until one side ends; what
/// it said before reaches the other one, as far as that takes it. Both are closed then. Returns the
/// side that ended first. `passed` counts bytes towards readers.
///
/// Nothing is taken from one connection before the other one has taken it: a reader that is stopped
/// holds up its own connections, and no others.
[[nodiscard]] asio::awaitable<Stream> join(asio::io_context& io,
                                           std::shared_ptr<socket::Connection> up,
                                           std::shared_ptr<socket::Connection> down,
                                           Allowance& allowance, std::uint64_t& passed);

} // namespace uzushio::staging::relay
