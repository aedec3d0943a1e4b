#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace uzushio::staging {

/// A named number or text on a step or a field: units, a Reynolds number, a case's title.
struct Attribute {
    std::string name;
    std::variant<std::int64_t, double, std::string> value;

    bool operator==(const Attribute&) const = default;
};

} // namespace uzushio::staging
