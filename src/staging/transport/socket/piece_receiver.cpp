#include "staging/transport/socket/piece_receiver.hpp"

#include <algorithm>

#include "staging/require.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/transport/socket/runs.hpp"
#include "staging/wire/checksum.hpp"
#include "staging/wire/decode_error.hpp"

namespace uzushio::staging::socket {
namespace {

/// PieceData, or Error with its text.
constexpr DecodeLimits answer_limits{std::size_t{64} << 10, std::size_t{256} << 10,
                                     std::size_t{16} << 10, 16};

PieceData checked(const Message& message, const PieceFetch& piece, std::int64_t offset,
                  std::int64_t left) {
    if (const auto* error = std::get_if<Error>(&message))
        throw Refused(error->code, error->text);
    const auto* part = std::get_if<PieceData>(&message);
    if (part == nullptr)
        throw DecodeError("A message other than the requested values was received.");
    if (part->request != piece.request.request ||
        part->offset != static_cast<std::uint64_t>(offset) || part->bytes == 0 ||
        part->bytes > static_cast<std::uint64_t>(left))
        throw DecodeError("The received values do not continue the requested piece.");
    if (piece.request.checksum && !part->checksum)
        throw DecodeError("Values were received without the requested checksum.");
    return *part;
}

} // namespace

asio::awaitable<void> PieceReceiver::receive(Connection& connection, const PieceFetch& piece,
                                             std::chrono::nanoseconds limit) {
    Cursor cursor(piece.to, piece.request.order);
    for (std::int64_t offset = 0; cursor.left() > 0;) {
        const ReceivedMessage received =
            co_await connection.receive(answer_limits, after(limit), limit);
        const Message message = received.message(answer_limits);
        const PieceData part = checked(message, piece, offset, cursor.left());
        const auto bytes = static_cast<std::int64_t>(part.bytes);
        const Cursor start = cursor;
        co_await scatter(connection, cursor, bytes, limit);
        require(!piece.request.checksum || sum_runs(start, bytes) == part.checksum,
                "Values of step ", piece.request.sequence,
                " were damaged in transit: their checksum is wrong.");
        offset += bytes;
    }
}

asio::awaitable<void> PieceReceiver::scatter(Connection& connection, Cursor& cursor,
                                             std::int64_t bytes, std::chrono::nanoseconds limit) {
    const bool direct = cursor.run_bytes() >= short_run;
    if (!direct)
        packed_.resize(packed_bytes);
    while (bytes > 0) {
        std::int64_t listed = 0;
        buffers_.clear();
        if (direct) {
            listed = list_runs(cursor, bytes, buffers_);
        } else {
            listed = std::min(bytes, packed_bytes);
            buffers_.push_back({packed_.data(), static_cast<std::size_t>(listed)});
        }
        for (std::span<iovec> left(buffers_); !left.empty();)
            left = drop(left, co_await connection.read_some(left, after(limit)));
        if (!direct)
            unpack(std::span(packed_).first(static_cast<std::size_t>(listed)), cursor);
        bytes -= listed;
    }
}

} // namespace uzushio::staging::socket
