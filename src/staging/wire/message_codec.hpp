#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "staging/wire/decode_limits.hpp"
#include "staging/wire/frame_header.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// Encode a message with its header. Throws std::length_error if the length of its body exceeds 32
/// bits.
[[nodiscard]] std::vector<std::byte> encode(const Message& message);

/// Decode a body with the header `frame`. Throws DecodeError.
[[nodiscard]] Message decode(const FrameHeader& frame, std::span<const std::byte> body,
                             const DecodeLimits& limits = {});

/// Decode a body without a check of its checksum: for checked bytes, and for fuzzing.
[[nodiscard]] Message decode_body(std::uint16_t type, std::span<const std::byte> body,
                                  const DecodeLimits& limits = {});

} // namespace uzushio::staging
