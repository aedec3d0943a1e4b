#include "staging/described_text.hpp"

#include <nlohmann/json.hpp>

#include "staging/require.hpp"
#include "staging/wire/decode_limits.hpp"

namespace uzushio::staging {
namespace {

constexpr std::size_t max_shown = 60; ///< bytes of a text in a message

bool is_utf8(std::string_view text) {
    try {
        (void)nlohmann::json(text).dump();
        return true;
    } catch (const nlohmann::json::type_error&) {
        return false;
    }
}

} // namespace

std::string printable(std::string_view text) {
    const std::string quoted =
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return quoted.substr(1, quoted.size() - 2);
}

void require_text(std::string_view subject, std::string_view text) {
    constexpr std::size_t max_bytes = DecodeLimits{}.text_bytes;
    const auto shown = [&] { return sentence(quote(printable(text.substr(0, max_shown)))); };
    require(text.size() <= max_bytes, subject, " has ", text.size(), " bytes, and the maximum is ",
            max_bytes, ".");
    require(is_utf8(text), subject, ", ", shown,
            ", is not UTF-8: write it in ASCII, or save the program's source as UTF-8 (Latin-1 is "
            "not).");
}

} // namespace uzushio::staging
