#include "staging/transport/socket/address.hpp"

#include <charconv>
#include <filesystem>
#include <system_error>

namespace uzushio::staging::socket {

std::optional<Address> parse_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos)
        return {};
    std::string_view host = text.substr(0, colon);
    const std::string_view digits = text.substr(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    else if (host.find_first_of(":/[]") != std::string_view::npos)
        return {};
    std::uint16_t port = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (host.empty() || fault != std::errc() || end != digits.data() + digits.size() || port == 0)
        return {};
    return Address{std::string(host), port};
}

std::string to_text(const Address& address) {
    const bool colons = address.host.find(':') != std::string::npos;
    return (colons ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

bool is_address(std::string_view contact) {
    std::error_code ignored;
    return parse_address(contact) && !std::filesystem::exists(contact, ignored);
}

} // namespace uzushio::staging::socket
