#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "staging/wire/messages.hpp"

namespace uzushio::staging::mpi {

/// How a piece is to be brought: what a reader's rank adds to a PieceRequest.
struct Manner {
    bool put = false;             ///< into the reader's landing window; else sent
    std::uint64_t tile_bytes = 0; ///< most of a tile
    bool operator==(const Manner&) const = default;
};

/// Most of a tile that is packed: writers have buffers of this size.
inline constexpr std::uint64_t most_tile_bytes = std::uint64_t{4} << 20;
/// Most of one that goes from where the values are to where they belong. MPI moves such a message
/// best if it is long; it must not take so long that the reader thinks its writer silent.
inline constexpr std::uint64_t most_straight_bytes = std::uint64_t{256} << 20;
/// The same for tiles that are put: a reader has room for eight.
inline constexpr std::uint64_t most_put_bytes = std::uint64_t{2} << 20;

struct Wish {
    PieceRequest request;
    Manner manner;
};

[[nodiscard]] std::vector<std::byte> encode(const Wish& wish);
/// Throws DecodeError.
[[nodiscard]] Wish decode_wish(std::span<const std::byte> bytes);

/// The place in a reader's landing window for the next tile.
[[nodiscard]] std::vector<std::byte> encode_grant(std::uint64_t offset);
/// Nothing if it is no such place.
[[nodiscard]] std::optional<std::uint64_t> decode_grant(std::span<const std::byte> bytes);

/// How many bytes a reader is about to get; none: it has them.
[[nodiscard]] std::vector<std::byte> encode_hurry(std::uint64_t bytes);
/// None if it is no such message.
[[nodiscard]] std::uint64_t decode_hurry(std::span<const std::byte> bytes);

/// Whether a message is an Announce, by its frame alone.
[[nodiscard]] bool is_announce(std::span<const std::byte> bytes);

/// A message of one's own job: with its frame, whole. Throws DecodeError.
[[nodiscard]] Message decode_message(std::span<const std::byte> bytes);

} // namespace uzushio::staging::mpi
