#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "staging/command.hpp"
#include "staging/datamodel/box.hpp"
#include "staging/datamodel/run_cursor.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/wire/mpi_mode.hpp"

/// Messages between writers and readers: one struct of data for each.
namespace uzushio::staging {

/// Incremented when the form or meaning of a message changes.
inline constexpr std::uint32_t protocol_version = 2;

enum class Role : std::uint8_t { writer = 1, reader = 2, relay = 3 };

/// Purpose of a connection.
enum class Channel : std::uint8_t {
    control = 1, ///< all messages but PieceRequest, PieceData: a reader has one, to rank 0
    data = 2,    ///< PieceRequest, PieceData: any number, between any rank of either side
};

/// First message of either side.
struct Hello {
    std::uint32_t version = protocol_version;
    Role role = Role::reader;
    Channel channel = Channel::control;
    std::uint32_t rank = 0;    ///< of the sender
    std::uint32_t ranks = 1;   ///< of the sender
    std::uint32_t target = 0;  ///< rank of the writer, also behind relays
    std::string stream;        ///< name of the stream; empty: any
    std::uint64_t session = 0; ///< on data connections: session of the Endpoints with the target
    bool operator==(const Hello&) const = default;
};

using Nonce = std::array<std::byte, 32>;

/// Random number for the proof that the peer knows the secret.
struct Challenge {
    Nonce nonce{};
    bool operator==(const Challenge&) const = default;
};

/// HMAC-SHA256 with the secret as key, over the bytes that the engine's handshake defines.
struct Response {
    std::array<std::byte, 32> code{};
    bool operator==(const Response&) const = default;
};

/// Address of a rank of the writer.
struct Endpoint {
    std::string address; ///< "host:port"
    std::string node;    ///< equal texts: memory can be shared; empty: never
    bool operator==(const Endpoint&) const = default;
};

/// Addresses of the writer's ranks, in order of rank.
struct Endpoints {
    std::vector<Endpoint> ranks;
    /// Of a relay: number of the writer behind it. Requests never reach another session's writer.
    std::uint64_t session = 0;
    bool operator==(const Endpoints&) const = default;
};

/// Place of a rank's segment that a reader can access directly. The engine defines the numbers; all
/// are zero without direct access.
struct SegmentPlace {
    std::uint64_t process = 0;
    std::uint64_t handle = 0;
    std::uint64_t bytes = 0;
    std::uint64_t token = 0; ///< stored in the segment too, to detect reuse
    bool operator==(const SegmentPlace&) const = default;
};

/// Request for the next step. The answer is Announce, or End.
struct Next {
    bool latest_only = false; ///< as in ReaderOptions, from now on
    bool operator==(const Next&) const = default;
};

/// A new step and its table. `sequence` counts the published steps from 0; `step.index` is the
/// solver's number.
struct Announce {
    std::uint64_t sequence = 0;
    std::vector<SegmentPlace> places; ///< in order of rank, or empty
    StepInfo step;
    bool operator==(const Announce&) const = default;
};

/// Request for a part of an array. `request` is the reader's number for it.
struct PieceRequest {
    std::uint64_t request = 0;
    std::uint64_t sequence = 0;
    std::uint32_t block = 0; ///< index into StepInfo::blocks
    std::uint32_t array = 0; ///< index into Block::arrays
    Box source;              ///< in the stored array, as in Piece::source
    std::uint32_t first_component = 0;
    std::uint32_t components = 1;
    ComponentOrder order = ComponentOrder::interleaved;
    bool checksum = false; ///< send one with each part
    bool operator==(const PieceRequest&) const = default;
};

/// Header of values of a piece: the next `bytes` bytes on the connection, from byte `offset` of the
/// piece. A piece may be sent in several parts, in order.
struct PieceData {
    std::uint64_t request = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::optional<std::uint32_t> checksum; ///< CRC32C of these bytes
    bool operator==(const PieceData&) const = default;
};

/// The reader releases a step.
struct Release {
    std::uint64_t sequence = 0;
    bool operator==(const Release&) const = default;
};

/// The reader detaches; its steps are released.
struct Detach {
    bool operator==(const Detach&) const = default;
};

/// End of the stream: no further step is announced.
struct End {
    std::uint64_t steps = 0; ///< delivered to this reader
    bool operator==(const End&) const = default;
};

enum class ErrorCode : std::uint16_t {
    protocol = 1,       ///< an invalid or unexpected message
    version = 2,        ///< another version of the protocol
    authentication = 3, ///< the secrets differ
    gone = 4,           ///< the step was released
    request = 5,        ///< there is no such piece
    limit = 6,          ///< too large, too many, too slow
    internal = 7,
};

/// Error, as a sentence for the user of the other side.
struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string text;
    bool operator==(const Error&) const = default;
};

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

/// Transfer mode of a piece in an MPI job.
struct TransferMode {
    bool put = false;             ///< into the reader's put window; else sent
    std::uint64_t tile_bytes = 0; ///< maximum of a tile
    bool operator==(const TransferMode&) const = default;
};

/// Request for a part of an array in an MPI job.
struct FetchRequest {
    PieceRequest piece;
    TransferMode mode;
    bool operator==(const FetchRequest&) const = default;
};

/// Permission to put the next tile at this offset of a reader's put window.
struct Credit {
    std::uint64_t offset = 0;
    bool operator==(const Credit&) const = default;
};

/// Bytes that a reader is about to get from the writer's memory; 0 when it has received them.
struct ProgressHint {
    std::uint64_t bytes = 0;
    bool operator==(const ProgressHint&) const = default;
};

/// The type of a message on the wire is its index in this list, from 1: append only.
using Message = std::variant<Hello, Challenge, Response, Endpoints, Announce, PieceRequest,
                             PieceData, Release, Detach, End, Error, Next, ConnectMessage,
                             FetchRequest, Credit, ProgressHint, Command, Reply>;

} // namespace uzushio::staging
