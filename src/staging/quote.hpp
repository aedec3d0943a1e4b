#pragma once

#include <string>
#include <string_view>

namespace uzushio::staging {

/// Return a name in quotation marks, for messages.
inline std::string quote(std::string_view name) {
    std::string text = "\"";
    return text.append(name).append("\"");
}

} // namespace uzushio::staging
