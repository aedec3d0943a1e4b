#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "staging/datamodel/box.hpp"
#include "staging/datamodel/run_cursor.hpp"
#include "staging/datamodel/step_info.hpp"

/// What writers and readers say to each other. One struct for each message: they are data alone.
namespace uzushio::staging {

/// Raised whenever a message changes its form or its meaning.
inline constexpr std::uint32_t protocol_version = 1;

enum class Role : std::uint8_t { writer = 1, reader = 2, relay = 3 };

/// What a connection is for.
enum class Channel : std::uint8_t {
    control = 1, ///< Next, Announce, Release, Detach, End: a reader has one, to the writer's rank 0
    data = 2,    ///< PieceRequest, PieceData: any number, between any rank of either side
};

/// The first message of either side.
struct Hello {
    std::uint32_t version = protocol_version;
    Role role = Role::reader;
    Channel channel = Channel::control;
    std::uint32_t rank = 0;   ///< of who says this
    std::uint32_t ranks = 1;  ///< of who says this
    std::uint32_t target = 0; ///< rank of the writer that is spoken to, also through relays
    std::string stream; ///< name that the writer opened, and that the reader wants; empty: any
    std::uint64_t session =
        0; ///< on data connections: that of the Endpoints which named the target
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

/// Where a rank of the writer can be reached.
struct Endpoint {
    std::string address; ///< "host:port"
    std::string node;    ///< same text: same machine, its memory can be shared; empty: never
    bool operator==(const Endpoint&) const = default;
};

/// Where the ranks of the writer can be reached, in order of rank.
struct Endpoints {
    std::vector<Endpoint> ranks;
    /// Of a relay: another writer behind it, another number. Requests for one never reach the next.
    std::uint64_t session = 0;
    bool operator==(const Endpoints&) const = default;
};

/// How a reader reaches a rank's segment of a step without asking the rank. What the numbers mean
/// is the engine's matter; all are zero where there is no such way.
struct SegmentPlace {
    std::uint64_t process = 0;
    std::uint64_t handle = 0;
    std::uint64_t bytes = 0;
    std::uint64_t token = 0; ///< found in the memory too, if it is the right one
    bool operator==(const SegmentPlace&) const = default;
};

/// I am ready for a step. Answered, once there is one, with Announce, or with End.
struct Next {
    bool operator==(const Next&) const = default;
};

/// There is a new step, and these are its blocks. `sequence` counts what the writer published, from
/// 0; the index in `step` is the solver's.
struct Announce {
    std::uint64_t sequence = 0;
    std::vector<SegmentPlace> places; ///< in order of rank; or none
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
    bool checksum = false; ///< of each part, to be sent with it
    bool operator==(const PieceRequest&) const = default;
};

/// The next `bytes` bytes on the connection are values of a piece, from its byte `offset` on. A
/// piece may come in several such parts, in order.
struct PieceData {
    std::uint64_t request = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::optional<std::uint32_t> checksum; ///< CRC32C of these bytes
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
    std::uint64_t steps = 0; ///< that this reader got
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
                             PieceData, Release, Detach, End, Error, Next>;

} // namespace uzushio::staging
