#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "staging/wire/messages.hpp"

namespace uzushio::staging::mpi {

/// Transfer mode of a piece: the part of a request that is specific to MPI.
struct TransferMode {
    bool put = false;             ///< into the reader's put window; else sent
    std::uint64_t tile_bytes = 0; ///< maximum of a tile
    bool operator==(const TransferMode&) const = default;
};

/// Maximum bytes of a tile that is packed: the size of the writer's buffers.
inline constexpr std::uint64_t max_tile_bytes = std::uint64_t{4} << 20;
/// Maximum bytes of a message sent directly between source and destination arrays (no packing).
/// Long messages are fastest, but one must not exceed the reader's timeout.
inline constexpr std::uint64_t max_direct_bytes = std::uint64_t{256} << 20;
/// Maximum bytes of a tile that is put: a reader has memory for eight.
inline constexpr std::uint64_t max_put_bytes = std::uint64_t{2} << 20;

struct FetchRequest {
    PieceRequest piece;
    TransferMode mode;
};

[[nodiscard]] std::vector<std::byte> encode(const FetchRequest& request);
/// Throws DecodeError.
[[nodiscard]] FetchRequest decode_fetch_request(std::span<const std::byte> bytes);

/// Encode a credit: the offset in a reader's put window for the next tile.
[[nodiscard]] std::vector<std::byte> encode_credit(std::uint64_t offset);
/// Return nothing if the offset is invalid.
[[nodiscard]] std::optional<std::uint64_t> decode_credit(std::span<const std::byte> bytes);

/// Encode a progress hint: the bytes that a reader is about to get; 0 when it has received them.
[[nodiscard]] std::vector<std::byte> encode_progress_hint(std::uint64_t bytes);
/// Return 0 if the message is invalid.
[[nodiscard]] std::uint64_t decode_progress_hint(std::span<const std::byte> bytes);

/// Return whether a message is an Announce, by its frame only.
[[nodiscard]] bool is_announce(std::span<const std::byte> bytes);

/// Decode a whole message with its frame. Throws DecodeError.
[[nodiscard]] Message decode_message(std::span<const std::byte> bytes);

} // namespace uzushio::staging::mpi
