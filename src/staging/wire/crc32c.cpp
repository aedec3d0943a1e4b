#include "staging/wire/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace uzushio::staging {
namespace {

// Polynomials over GF(2) modulo the CRC's, in reflected order: bit 31 is x^0.
constexpr std::uint32_t polynomial = 0x82F63B78u;
constexpr std::uint32_t one = 0x80000000u;

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (std::uint32_t bit = one; bit != 0; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = (b & 1u) ? (b >> 1) ^ polynomial : b >> 1;
    }
    return product;
}

/// Return x^(8 bytes), the factor of a checksum that is followed by that many bytes.
constexpr std::uint32_t shift(std::uint64_t bytes) {
    std::uint32_t square = one >> 8; // x^8
    std::uint32_t power = one;
    for (; bytes != 0; bytes >>= 1) {
        if (bytes & 1u)
            power = multiply(square, power);
        square = multiply(square, square);
    }
    return power;
}

constexpr auto table = [] {
    std::array<std::uint32_t, 256> remainders{};
    for (std::uint32_t byte = 0; byte < 256; ++byte)
        remainders[byte] = multiply(one >> 8, byte);
    return remainders;
}();

std::uint32_t by_table(const std::byte* p, std::size_t n, std::uint32_t crc) {
    for (; n > 0; ++p, --n)
        crc = (crc >> 8) ^ table[(crc ^ static_cast<std::uint32_t>(*p)) & 0xFFu];
    return crc;
}

#if defined(__x86_64__)
#define UZUSHIO_CRC32C __attribute__((target("sse4.2")))
bool has_instruction() { return __builtin_cpu_supports("sse4.2") != 0; }
UZUSHIO_CRC32C std::uint64_t crc_of_word(std::uint64_t crc, std::uint64_t word) {
    return _mm_crc32_u64(crc, word);
}
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#define UZUSHIO_CRC32C
bool has_instruction() { return true; }
std::uint64_t crc_of_word(std::uint64_t crc, std::uint64_t word) {
    return __crc32cd(static_cast<std::uint32_t>(crc), word);
}
#endif

#if defined(UZUSHIO_CRC32C)
UZUSHIO_CRC32C std::uint64_t word_at(const std::byte* p) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
}

UZUSHIO_CRC32C std::uint32_t by_instruction(const std::byte* p, std::size_t n, std::uint32_t crc) {
    // The instruction has a latency of three cycles and a throughput of one per cycle: three
    // independent parts use it fully.
    constexpr std::size_t part = 4096;
    constexpr std::uint32_t one_part = shift(part);
    constexpr std::uint32_t two_parts = shift(2 * part);
    for (; n >= 3 * part; p += 3 * part, n -= 3 * part) {
        std::uint64_t a = crc, b = 0, c = 0;
        for (std::size_t i = 0; i < part; i += 8) {
            a = crc_of_word(a, word_at(p + i));
            b = crc_of_word(b, word_at(p + part + i));
            c = crc_of_word(c, word_at(p + 2 * part + i));
        }
        crc = multiply(two_parts, static_cast<std::uint32_t>(a)) ^
              multiply(one_part, static_cast<std::uint32_t>(b)) ^ static_cast<std::uint32_t>(c);
    }
    for (; n >= 8; p += 8, n -= 8)
        crc = static_cast<std::uint32_t>(crc_of_word(crc, word_at(p)));
    return by_table(p, n, crc);
}
#else
bool has_instruction() { return false; }
std::uint32_t by_instruction(const std::byte* p, std::size_t n, std::uint32_t crc) {
    return by_table(p, n, crc);
}
#endif

} // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
    static const bool fast = has_instruction();
    if (!fast)
        return crc32c_table(bytes, before);
    return ~by_instruction(bytes.data(), bytes.size(), ~before);
}

std::uint32_t crc32c_table(std::span<const std::byte> bytes, std::uint32_t before) {
    return ~by_table(bytes.data(), bytes.size(), ~before);
}

std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second,
                             std::uint64_t second_bytes) {
    return multiply(shift(second_bytes), first) ^ second;
}

} // namespace uzushio::staging
