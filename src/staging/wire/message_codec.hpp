#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "staging/wire/frame.hpp"
#include "staging/wire/limits.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging {

/// A message with its frame, ready to be sent. Throws std::length_error if its body exceeds what 32
/// bits can count.
[[nodiscard]] std::vector<std::byte> encode(const Message& message);

/// The message in a body that came with `frame`. Throws DecodeError.
[[nodiscard]] Message decode(const Frame& frame, std::span<const std::byte> body,
                             const Limits& limits = {});

/// The same without the checksum's check: where something else has made sure, and for fuzzing.
[[nodiscard]] Message decode_body(std::uint16_t type, std::span<const std::byte> body,
                                  const Limits& limits = {});

} // namespace uzushio::staging
