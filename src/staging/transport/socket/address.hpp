#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace uzushio::staging::socket {

/// Where a process listens: a name or a number of a host, and a port.
struct Address {
    std::string host;
    std::uint16_t port = 0;
};

/// From "host:port" or "[::1]:port"; nothing if it is not that.
[[nodiscard]] std::optional<Address> parse_address(std::string_view text);

/// "host:port", with brackets around a host that has colons itself.
[[nodiscard]] std::string to_text(const Address& address);

} // namespace uzushio::staging::socket
