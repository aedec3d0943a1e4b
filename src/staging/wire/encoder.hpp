#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "staging/datamodel/box.hpp"

namespace uzushio::staging {

/// Encoder of values as bytes: integers little-endian, reals as IEEE 754 doubles, texts and lists
/// after a 32-bit count. It has the members of Decoder, so that one function defines both
/// directions.
class Encoder {
  public:
    static constexpr bool decodes = false;

    template <std::integral T> void number(const T& value) {
        const auto bits = static_cast<std::make_unsigned_t<T>>(value);
        for (std::size_t i = 0; i < sizeof(T); ++i)
            bytes_.push_back(static_cast<std::byte>((bits >> (8 * i)) & 0xFFu));
    }
    void real(const double& value) { number(std::bit_cast<std::uint64_t>(value)); }
    /// Encode one of an enumeration's values `first`, ..., `last`.
    template <class Enum> void choice(const Enum& value, Enum, Enum, const char*) {
        number(static_cast<std::underlying_type_t<Enum>>(value));
    }
    void text(const std::string& value, const char*) {
        number(static_cast<std::uint32_t>(value.size()));
        for (const char c : value)
            bytes_.push_back(static_cast<std::byte>(c));
    }
    void flag(const bool& value, const char*) { number(static_cast<std::uint8_t>(value)); }
    template <std::size_t n> void raw(const std::array<std::byte, n>& value) {
        bytes_.insert(bytes_.end(), value.begin(), value.end());
    }
    void extent(const Extent& value) {
        for (const std::int64_t number_of_axis : value)
            number(number_of_axis);
    }
    /// Encode lower bounds and extents.
    void box(const Box& value) {
        extent(value.lower);
        extent(value.extents());
    }
    template <class T, class Each>
    void list(const std::vector<T>& items, std::size_t, const char*, Each each) {
        number(static_cast<std::uint32_t>(items.size()));
        for (const T& item : items)
            each(item);
    }

    template <std::integral T> void optional_number(const std::optional<T>& value, const char*) {
        number(static_cast<std::uint8_t>(value.has_value()));
        if (value)
            number(*value);
    }

    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
    [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    std::vector<std::byte> bytes_;
};

} // namespace uzushio::staging
