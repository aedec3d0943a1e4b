#pragma once

#include <cstddef>

namespace uzushio::staging {

/// Limits of a decoder. Each is checked before memory is allocated.
struct DecodeLimits {
    std::size_t message_bytes = std::size_t{64} << 20; ///< of one message, without data of pieces
    std::size_t memory_bytes = std::size_t{256} << 20; ///< of one decoded message
    std::size_t text_bytes = std::size_t{64} << 10;    ///< of one name or text
    std::size_t list_items = std::size_t{1} << 22;     ///< of one list

    /// Return the limits for an unauthenticated peer.
    [[nodiscard]] static constexpr DecodeLimits handshake() { return {4096, 16384, 256, 16}; }
};

} // namespace uzushio::staging
