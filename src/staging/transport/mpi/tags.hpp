#pragma once

#include <cstdint>

/// Writers and readers inside one MPI job (one MPMD launch): only MPI carries anything.
///
/// There is no secret: whoever is in the job is trusted, as MPI itself trusts it. If a process of
/// the job dies, the launcher ends the whole job, staging or not; the time limits of waits are for
/// a peer that is stopped or computes.
///
/// All messages go over MPI_COMM_WORLD, with tags of their own: a communicator of both sides would
/// have to be made by all processes of both at once, and one that is stopped would hold up the
/// others. So a program that receives messages of *any* tag from *any* rank on MPI_COMM_WORLD takes
/// staging's away; programs of an MPMD launch have communicators of their own anyway.
namespace uzushio::staging::mpi {

/// What a message is. Each attachment of a reader (channel) has tags of its own, so that nothing
/// left over from one is ever taken for another's.
enum class Talk : std::uint8_t {
    up,      ///< reader's rank 0 to writer's rank 0: Next, Release; all its ranks: Detach
    down,    ///< back: Announce, End, Error
    request, ///< any rank of the reader to any of the writer: PieceRequest and its Manner
    grant,   ///< the same way: where in the reader's memory the next tile may be put
    hurry,   ///< the same way: so many bytes will be got; none: they were
    reply,   ///< back: Error, and no values any more
    data,    ///< back: a tile's values, or, empty, that they were put
};

/// "UZ": letters have this tag, and channels those behind it. Not likely to be anybody else's.
inline constexpr int letter_tag = 0x555A;
inline constexpr int tags_per_channel = 7;

[[nodiscard]] constexpr int tag(std::uint32_t channel, Talk talk) {
    return letter_tag + 1 + static_cast<int>(channel) * tags_per_channel + static_cast<int>(talk);
}

/// A number for a channel that this process opens: one that no other process uses, and that it did
/// not use for a long time itself. MPI promises tags up to 32767 only, but all have far more.
[[nodiscard]] std::uint32_t new_channel();

} // namespace uzushio::staging::mpi
