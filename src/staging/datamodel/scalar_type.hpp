#pragma once

#include <cstdint>
#include <string_view>

namespace uzushio::staging {

/// Type of a field's values. The numbers are part of the wire format: never change one.
enum class ScalarType : std::uint8_t { float32 = 1, float64 = 2, int32 = 3, int64 = 4, uint8 = 5 };

[[nodiscard]] constexpr bool is_scalar_type(std::uint8_t code) { return code >= 1 && code <= 5; }

/// Bytes of one value.
[[nodiscard]] constexpr std::int64_t size_of(ScalarType type) {
    switch (type) {
    case ScalarType::float32:
    case ScalarType::int32:
        return 4;
    case ScalarType::float64:
    case ScalarType::int64:
        return 8;
    case ScalarType::uint8:
        return 1;
    }
    return 0;
}

/// Name of the type in Conduit and NumPy.
[[nodiscard]] constexpr std::string_view name_of(ScalarType type) {
    switch (type) {
    case ScalarType::float32:
        return "float32";
    case ScalarType::float64:
        return "float64";
    case ScalarType::int32:
        return "int32";
    case ScalarType::int64:
        return "int64";
    case ScalarType::uint8:
        return "uint8";
    }
    return "unknown";
}

} // namespace uzushio::staging
