#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace uzushio::compositing {

/// An algorithm by name, with what it takes: `radix_k(8)`, `multi_step(64, binary_swap,
/// binary_tree)`, `hybrid(radix_k(4))`. Written so, it is read back by `parse_method`.
struct Method {
    std::string name;
    int number = 0;            ///< radix or ranks of a group; 0 if it takes none
    std::vector<Method> parts; ///< algorithms that it is made of
    bool operator==(const Method&) const = default;
};

/// Throws `std::invalid_argument` with what is wrong and what is allowed.
[[nodiscard]] Method parse_method(std::string_view text);

[[nodiscard]] std::string to_string(const Method& method);

} // namespace uzushio::compositing
