#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/engine_options.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::mpi {

/// How a reader and a writer of one MPI job find each other and agree on a channel. In order: the
/// reader's rank 0 knocks, the writer's offers, the reader's accepts, the writer's links. Whoever
/// waits may give up: a reader that has accepted leaves.
struct Letter {
    enum class Kind : std::uint8_t {
        knock = 1, ///< reader: is the stream written here?
        offer,     ///< writer: yes; do you still want it?
        accept,    ///< reader: yes; `ranks` are ours
        link,      ///< writer: `ranks` are ours, and the channel is open
        refuse,    ///< writer: no, for the reason in `text`
        leave,     ///< reader: it gave up; among the writer's ranks: the channel is no more
    };

    Kind kind = Kind::knock;
    std::uint32_t version = protocol_version;
    std::uint64_t attempt = 0; ///< the reader's number for it, unique in the job
    std::int32_t from = 0;     ///< rank in MPI_COMM_WORLD of who sends this
    std::string stream;
    std::uint32_t channel = 0;
    MpiMode mode = MpiMode::two_sided; ///< both sides make windows for it
    std::vector<std::int32_t> ranks;   ///< in MPI_COMM_WORLD, in order of rank
    std::string text;

    bool operator==(const Letter&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode(const Letter& letter);
/// Throws DecodeError.
[[nodiscard]] Letter decode_letter(std::span<const std::byte> bytes);

} // namespace uzushio::staging::mpi
