#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <cstdint>
#include <memory>

#include "staging/relay/buffer_budget.hpp"
#include "staging/transport/socket/connection.hpp"

namespace uzushio::staging::relay {

/// Forward all bytes between two connections until one side ends; its last bytes are delivered if
/// the other side reads them. Both connections are then closed. `passed` counts the bytes towards
/// readers.
///
/// Bytes are consumed from one connection only when the other one has accepted them: a stopped
/// reader delays its own connections, and no others.
[[nodiscard]] asio::awaitable<void> splice(asio::io_context& io,
                                           std::shared_ptr<socket::Connection> up,
                                           std::shared_ptr<socket::Connection> down,
                                           BufferBudget& budget, std::uint64_t& passed);

} // namespace uzushio::staging::relay
