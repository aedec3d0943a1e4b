#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace uzushio::staging::socket {

/// Address of a listening process: name or number of a host, and a port.
struct Address {
    std::string host;
    std::uint16_t port = 0;
};

/// Parse "host:port" or "[::1]:port"; nothing if the text has another form.
[[nodiscard]] std::optional<Address> parse_address(std::string_view text);

/// Return "host:port", with brackets around a host that contains colons.
[[nodiscard]] std::string to_text(const Address& address);

/// Return whether a contact is "host:port" ("[::1]:port" for IPv6), and no file has that name.
[[nodiscard]] bool is_address(std::string_view contact);

} // namespace uzushio::staging::socket
