#pragma once

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <vector>

#include "staging/transport/socket/address.hpp"
#include "staging/transport/socket/connection.hpp"

namespace uzushio::staging::socket {

/// Where a host that is given by number or name can be reached. The system's look-up of a name
/// takes half a minute where its servers are silent, and nothing stops it: a thread does it, which
/// is left to itself after the deadline, or when the wait is cancelled. Throws PeerGone.
[[nodiscard]] asio::awaitable<std::vector<asio::ip::tcp::endpoint>> look_up(Address address,
                                                                            Deadline deadline);

} // namespace uzushio::staging::socket
