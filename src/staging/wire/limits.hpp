#pragma once

#include <cstddef>

namespace uzushio::staging {

/// What a decoder accepts at most. Each is checked before anything is allocated.
struct Limits {
    std::size_t message_bytes = std::size_t{64}
                                << 20; ///< of one message; data of pieces follow apart
    std::size_t memory_bytes = std::size_t{256} << 20; ///< of all that one message becomes
    std::size_t text_bytes = std::size_t{64} << 10;    ///< of one name or text
    std::size_t list_items = std::size_t{1} << 22;     ///< of one list

    /// For a peer that has not proved who it is.
    [[nodiscard]] static constexpr Limits handshake() { return {4096, 16384, 256, 16}; }
};

} // namespace uzushio::staging
