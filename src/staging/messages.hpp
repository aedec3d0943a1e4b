#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "staging/box.hpp"
#include "staging/run_cursor.hpp"
#include "staging/step_info.hpp"

/// What writers and readers say to each other. One struct for each message: they are data alone.
namespace uzushio::staging {

/// Raised whenever a message changes its form or its meaning.
inline constexpr std::uint32_t protocol_version = 1;

enum class Role : std::uint8_t { writer = 1, reader = 2, relay = 3 };

/// The first message of either side.
struct Hello {
    std::uint32_t version = protocol_version;
    Role role = Role::reader;
    std::uint32_t rank = 0;
    std::uint32_t ranks = 1;
    std::string stream; ///< name that the writer opened, and that the reader wants
    bool operator==(const Hello&) const = default;
};

using Nonce = std::array<std::byte, 32>;

/// Prove that you know the secret, by the code of this random number.
struct Challenge {
    Nonce nonce{};
    bool operator==(const Challenge&) const = default;
};

/// HMAC-SHA256 with the secret as key, over what the engine's handshake prescribes.
struct Response {
    std::array<std::byte, 32> code{};
    bool operator==(const Response&) const = default;
};

/// Where each rank of the writer listens, in order of rank.
struct Endpoints {
    std::vector<std::string> addresses;
    bool operator==(const Endpoints&) const = default;
};

/// There is a new step, and these are its blocks. `sequence` counts what the writer published, from
/// 0; the index in `step` is the solver's.
struct Announce {
    std::uint64_t sequence = 0;
    StepInfo step;
    bool operator==(const Announce&) const = default;
};

/// Send me this part of an array. `request` is the reader's number for it.
struct PieceRequest {
    std::uint64_t request = 0;
    std::uint64_t sequence = 0;
    std::uint32_t block = 0; ///< index into StepInfo::blocks
    std::uint32_t array = 0; ///< index into Block::arrays
    Box source;              ///< in the stored array, as in Piece::source
    std::uint32_t first_component = 0;
    std::uint32_t components = 1;
    Order order = Order::interleaved;
    bool operator==(const PieceRequest&) const = default;
};

/// The next `bytes` bytes on the connection are values of a piece, from its byte `offset` on. A
/// piece may come in several such parts, in order.
struct PieceData {
    std::uint64_t request = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint32_t checksum = 0; ///< CRC32C of these bytes
    bool operator==(const PieceData&) const = default;
};

/// The reader needs nothing more of this step.
struct Release {
    std::uint64_t sequence = 0;
    bool operator==(const Release&) const = default;
};

/// The reader leaves; what it held is free.
struct Detach {
    bool operator==(const Detach&) const = default;
};

/// The writer has closed the stream: no step follows those announced.
struct End {
    std::uint64_t steps = 0; ///< published in all
    bool operator==(const End&) const = default;
};

enum class ErrorCode : std::uint16_t {
    protocol = 1,       ///< a message that cannot be read, or not now
    version = 2,        ///< another version of the protocol
    authentication = 3, ///< the secret is not the same
    gone = 4,           ///< the step is no longer there
    request = 5,        ///< there is no such piece
    limit = 6,          ///< too large, too many, too slow
    internal = 7,
};

/// What is wrong, in a sentence for the user of the other side.
struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string text;
    bool operator==(const Error&) const = default;
};

/// The type of a message on the wire is its place in this list, from 1 on: append only.
using Message = std::variant<Hello, Challenge, Response, Endpoints, Announce, PieceRequest,
                             PieceData, Release, Detach, End, Error>;

} // namespace uzushio::staging
