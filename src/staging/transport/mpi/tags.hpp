#pragma once

#include <cstdint>

/// Writers and readers inside one MPI job (one MPMD launch), which communicate by MPI only.
///
/// There is no secret: all processes of the job are trusted, as by MPI itself. If a process of the
/// job dies, the launcher ends the whole job; timeouts are for a peer that is stopped or computes.
///
/// All messages use MPI_COMM_WORLD with tags of their own: a communicator of both sides would have
/// to be made collectively, and a stopped process would block the others. A program that receives
/// messages of *any* tag from *any* rank on MPI_COMM_WORLD would receive those of staging; programs
/// of an MPMD launch have communicators of their own anyway.
namespace uzushio::staging::mpi {

/// Kind of a message. Each attachment of a reader (channel) has tags of its own, so that no
/// left-over message of one is received by another.
enum class MessageKind : std::uint8_t {
    control,       ///< reader's rank 0 to writer's rank 0: Next, Release; all its ranks: Detach
    control_reply, ///< writer's rank 0 to reader's rank 0: Announce, End, Error
    request,       ///< any rank of the reader to any of the writer: FetchRequest
    credit,        ///< reader to writer: offset in the reader's put window for the next tile
    progress_hint, ///< reader to writer: bytes of the gets in progress; 0 at their end
    error,         ///< writer to reader: Error instead of further values
    data,          ///< writer to reader: a tile's values, or, empty, the completion of a put
};

/// "UZ": tag of connect messages; tags of channels follow. Unlikely to be used by other software.
inline constexpr int connect_tag = 0x555A;
inline constexpr int tags_per_channel = 7;

[[nodiscard]] constexpr int tag(std::uint32_t channel, MessageKind kind) {
    return connect_tag + 1 + static_cast<int>(channel) * tags_per_channel + static_cast<int>(kind);
}

/// Return a channel number that no other process uses, and that this one has not used for a long
/// time. MPI guarantees tags up to 32767 only, but all implementations have far more.
[[nodiscard]] std::uint32_t new_channel();

} // namespace uzushio::staging::mpi
