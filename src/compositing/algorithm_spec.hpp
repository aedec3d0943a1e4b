#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uzushio::compositing {

/// Name and parameters of an algorithm: `radix_k(8)`, `multi_step(64, binary_swap, binary_tree)`,
/// `hybrid(radix_k(4))`. This text is the form of `parse_algorithm` and `to_string`.
struct AlgorithmSpec {
    std::string name;
    int parameter = 0;                         ///< radix or ranks of a group; 0: none
    std::vector<AlgorithmSpec> sub_algorithms; ///< algorithms that it is made of
    bool operator==(const AlgorithmSpec&) const = default;
};

/// Throw `std::invalid_argument`, which states the mistake and the allowed values.
[[nodiscard]] AlgorithmSpec parse_algorithm(std::string_view text);

[[nodiscard]] std::string to_string(const AlgorithmSpec& spec);

} // namespace uzushio::compositing
