#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/engine_options.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::mpi {

/// Message by which a reader and a writer of one MPI job agree on a channel. In order: request by
/// the reader's rank 0, offer by the writer, acceptance by the reader, confirmation by the writer.
/// Either side may time out; a reader that has accepted sends detach then.
struct ConnectMessage {
    enum class Kind : std::uint8_t {
        request = 1, ///< reader: does this rank write the stream?
        offer,       ///< writer: yes; is it still requested?
        accept,      ///< reader: yes; `ranks` are the reader's
        confirm,     ///< writer: the channel is open; `ranks` are the writer's
        refuse,      ///< writer: no, for the reason in `text`
        detach,      ///< reader: timed out; among the writer's ranks: close the channel
    };

    Kind kind = Kind::request;
    std::uint32_t version = protocol_version;
    std::uint64_t attempt = 0; ///< the reader's number of the attempt, unique in the job
    std::int32_t from = 0;     ///< the sender's rank in MPI_COMM_WORLD
    std::string stream;
    std::uint32_t channel = 0;
    MpiMode mode = MpiMode::two_sided; ///< mode of the windows that both sides make
    std::vector<std::int32_t> ranks;   ///< in MPI_COMM_WORLD, in order of rank
    std::string text;

    bool operator==(const ConnectMessage&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode(const ConnectMessage& message);
/// Throws DecodeError.
[[nodiscard]] ConnectMessage decode_connect_message(std::span<const std::byte> bytes);

} // namespace uzushio::staging::mpi
