#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace uzushio::staging {

/// CRC32C (Castagnoli) of `bytes`, or of bytes that follow those whose sum is `before`. Uses the
/// processor's instruction where there is one. Of "123456789" it is 0xE3069283.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The same from a table, on any processor.
[[nodiscard]] std::uint32_t crc32c_table(std::span<const std::byte> bytes,
                                         std::uint32_t before = 0);

/// The sum of a text from those of its two halves, `second_bytes` being the length of the second:
/// parts may be summed in any order, or by several threads.
[[nodiscard]] std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second,
                                           std::uint64_t second_bytes);

} // namespace uzushio::staging
