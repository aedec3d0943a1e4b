#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace uzushio::staging {

/// Return the CRC32C (Castagnoli) of `bytes`, or of their concatenation with bytes of checksum
/// `before`. Uses the processor's instruction if available. The value for "123456789" is
/// 0xE3069283.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The same computed with tables, on any processor.
[[nodiscard]] std::uint32_t crc32c_table(std::span<const std::byte> bytes,
                                         std::uint32_t before = 0);

/// Return the checksum of a concatenation from those of its two parts; `second_bytes` is the length
/// of the second. Parts may be computed in any order, or by several threads.
[[nodiscard]] std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second,
                                           std::uint64_t second_bytes);

} // namespace uzushio::staging
