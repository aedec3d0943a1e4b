#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "staging/datamodel/box.hpp"
#include "staging/wire/decode_limits.hpp"

namespace uzushio::staging {

/// Decoder of untrusted bytes. Throws DecodeError before it reads beyond the end, or allocates more
/// than the limits or the remaining bytes allow.
class Decoder {
  public:
    static constexpr bool decodes = true;

    Decoder(std::span<const std::byte> bytes, const DecodeLimits& limits)
        : bytes_(bytes), limits_(limits) {}

    template <std::integral T> void number(T& value) {
        need(sizeof(T));
        std::make_unsigned_t<T> bits = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i)
            bits = static_cast<std::make_unsigned_t<T>>(
                bits | static_cast<std::make_unsigned_t<T>>(
                           static_cast<std::make_unsigned_t<T>>(bytes_[at_ + i]) << (8 * i)));
        at_ += sizeof(T);
        value = static_cast<T>(bits);
    }
    void real(double& value) {
        std::uint64_t bits = 0;
        number(bits);
        value = std::bit_cast<double>(bits);
    }
    template <class Enum> void choice(Enum& value, Enum first, Enum last, const char* what) {
        std::underlying_type_t<Enum> code{};
        number(code);
        if (code < static_cast<std::underlying_type_t<Enum>>(first) ||
            code > static_cast<std::underlying_type_t<Enum>>(last))
            unknown(what, static_cast<long long>(code));
        value = static_cast<Enum>(code);
    }
    void flag(bool& value, const char* what) {
        std::uint8_t code = 0;
        number(code);
        if (code > 1)
            unknown(what, code);
        value = code == 1;
    }
    void text(std::string& value, const char* what);
    template <std::size_t n> void raw(std::array<std::byte, n>& value) {
        need(n);
        for (std::size_t i = 0; i < n; ++i)
            value[i] = bytes_[at_ + i];
        at_ += n;
    }
    void extent(Extent& value) {
        for (std::int64_t& number_of_axis : value)
            number(number_of_axis);
    }
    void box(Box& value) {
        Extent start, count;
        extent(start);
        extent(count);
        value = box_of(start, count);
    }
    /// Decode a list; an item takes at least `min_bytes`, and `each` decodes one.
    template <class T, class Each>
    void list(std::vector<T>& items, std::size_t min_bytes, const char* what, Each each) {
        const std::size_t size = count(min_bytes, sizeof(T), what);
        items.clear();
        items.reserve(size);
        for (std::size_t i = 0; i < size; ++i)
            each(items.emplace_back());
    }
    template <std::integral T> void optional_number(std::optional<T>& value, const char* what) {
        enum class Given : std::uint8_t { no, yes } given{};
        choice(given, Given::no, Given::yes, what);
        value.reset();
        if (given == Given::yes)
            number(value.emplace());
    }
    /// Throw if bytes remain.
    void finish() const;

  private:
    void need(std::size_t bytes) const;
    std::size_t count(std::size_t min_bytes, std::size_t item_bytes, const char* what);
    void charge(std::size_t bytes);
    [[noreturn]] static void unknown(const char* what, long long code);

    std::span<const std::byte> bytes_;
    DecodeLimits limits_;
    std::size_t at_ = 0;
    std::size_t memory_ = 0;
};

} // namespace uzushio::staging
