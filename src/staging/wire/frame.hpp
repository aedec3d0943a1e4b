#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "staging/wire/limits.hpp"

namespace uzushio::staging {

/// The 16 bytes before every message: "UZS1", type (16 bits), zero (16), length of the body (32),
/// CRC32C (32) of the twelve bytes before it and the body.
struct Frame {
    static constexpr std::size_t size = 16;

    std::uint16_t type = 0; ///< place in Message, from 1 on
    std::uint32_t length = 0;
    std::uint32_t checksum = 0;

    bool operator==(const Frame&) const = default;
};

/// Throws DecodeError if the bytes do not begin a message, or one that is larger than allowed:
/// before memory for its body is allocated.
[[nodiscard]] Frame decode_frame(std::span<const std::byte, Frame::size> bytes,
                                 const Limits& limits = {});

/// The frame of a body, as bytes.
[[nodiscard]] std::array<std::byte, Frame::size> encode_frame(std::uint16_t type,
                                                              std::span<const std::byte> body);

/// Throws DecodeError unless the body is the one that the frame was made for.
void check_frame(const Frame& frame, std::span<const std::byte> body);

} // namespace uzushio::staging
