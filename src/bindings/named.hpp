#pragma once

#include <map>
#include <stdexcept>
#include <string>

namespace uzushio::bindings {

/// Return the value of a name. Throws `std::invalid_argument` for another name.
template <class Value>
Value named(const std::map<std::string, Value>& values, const std::string& name, const char* what) {
    if (const auto entry = values.find(name); entry != values.end())
        return entry->second;
    throw std::invalid_argument("there is no " + std::string(what) + " '" + name + "'");
}

} // namespace uzushio::bindings
