#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "staging/wire/decode_limits.hpp"

namespace uzushio::staging {

/// Header of 16 bytes before every message: "UZS1", type (16 bits), zero (16), length of the body
/// (32), CRC32C (32) of the twelve bytes before it and the body.
struct FrameHeader {
    static constexpr std::size_t size = 16;

    std::uint16_t type = 0; ///< index in Message, from 1
    std::uint32_t length = 0;
    std::uint32_t checksum = 0;

    bool operator==(const FrameHeader&) const = default;
};

/// First byte of every frame; no TLS connection begins with it.
inline constexpr std::byte first_byte_of_frame{'U'};

/// Decode a header. Throws DecodeError if it is invalid, or if the message exceeds a limit, before
/// memory for the body is allocated.
[[nodiscard]] FrameHeader decode_frame_header(std::span<const std::byte, FrameHeader::size> bytes,
                                              const DecodeLimits& limits = {});

/// Encode the header of a body.
[[nodiscard]] std::array<std::byte, FrameHeader::size>
encode_frame_header(std::uint16_t type, std::span<const std::byte> body);

/// Throw DecodeError unless length and checksum of the body match the header.
void check_frame(const FrameHeader& frame, std::span<const std::byte> body);

} // namespace uzushio::staging
