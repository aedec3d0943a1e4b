#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace uzushio::staging {

/// Named number or text of a step or a field, such as a unit, a Reynolds number or a title.
struct Attribute {
    std::string name;
    std::variant<std::int64_t, double, std::string> value;

    bool operator==(const Attribute&) const = default;
};

} // namespace uzushio::staging
