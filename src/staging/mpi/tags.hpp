#pragma once

#include <cstdint>

/// Writers and readers inside one MPI job (one MPMD launch): only MPI carries anything.
///
/// There is no secret: whoever is in the job is trusted, as MPI itself trusts it. If a process of
/// the job dies, the launcher ends the whole job, staging or not; the time limits of reads are for
/// a peer that is stopped or computes.
namespace uzushio::staging::mpi {

/// What a message on a Link's communicator is. Each attachment of a reader (channel) has tags of
/// its own, so that nothing left over from one is ever taken for the next one's.
enum class Talk : std::uint8_t {
    up,      ///< reader's rank 0 to writer's rank 0: Next, Release; all its ranks: Detach
    down,    ///< back: Announce, End, Error
    request, ///< any rank of the reader to any of the writer: PieceRequest and its Manner
    grant,   ///< the same way: where in the reader's memory the next tile may be put
    hurry,   ///< the same way: so many bytes will be got; none: they were
    reply,   ///< back: Error, and no values any more
    data,    ///< back: a tile's values, or, empty, that they were put
};

/// The standard promises tags up to 32767 only.
inline constexpr std::uint32_t tags_per_channel = 7;
inline constexpr std::uint32_t channels = 32767 / tags_per_channel;

[[nodiscard]] constexpr int tag(std::uint32_t channel, Talk talk) {
    return static_cast<int>(channel % channels * tags_per_channel) + static_cast<int>(talk);
}

} // namespace uzushio::staging::mpi
