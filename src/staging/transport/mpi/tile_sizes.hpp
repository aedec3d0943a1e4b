#pragma once

#include <cstdint>

namespace uzushio::staging::mpi {

/// Maximum bytes of a tile that is packed: the size of the writer's buffers.
inline constexpr std::uint64_t max_tile_bytes = std::uint64_t{4} << 20;
/// Maximum bytes of a message sent directly between source and destination arrays (no packing).
/// Long messages are fastest, but one must not exceed the reader's timeout.
inline constexpr std::uint64_t max_direct_bytes = std::uint64_t{256} << 20;
/// Maximum bytes of a tile that is put: a reader has memory for eight.
inline constexpr std::uint64_t max_put_bytes = std::uint64_t{2} << 20;

} // namespace uzushio::staging::mpi
