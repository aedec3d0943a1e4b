#pragma once

#include <sys/uio.h>

#include <asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/run_cursor.hpp"
#include "staging/transport/socket/connection.hpp"
#include "staging/wire/messages.hpp"

namespace uzushio::staging::socket {

/// Piece, or part of one, that is fetched by one request.
struct PieceFetch {
    PieceRequest request;
    ArrayView to;
};

/// Receiver of pieces from one connection, directly into their destination, or through a buffer if
/// the runs there are short. The sender is not trusted: it can send wrong values, but writes
/// nowhere else.
class PieceReceiver {
  public:
    /// Receive the next piece, which must be this one. Throws PeerSilent if no bytes arrive within
    /// `limit`, Refused if the answer is an error, DecodeError if it is not the requested piece,
    /// StagingError if a checksum is wrong.
    [[nodiscard]] asio::awaitable<void> receive(Connection& connection, const PieceFetch& piece,
                                                std::chrono::nanoseconds limit);

  private:
    using Cursor = RunCursor<std::byte>;
    [[nodiscard]] asio::awaitable<void> scatter(Connection& connection, Cursor& cursor,
                                                std::int64_t bytes, std::chrono::nanoseconds limit);

    std::vector<iovec> buffers_;
    std::vector<std::byte> packed_;
};

} // namespace uzushio::staging::socket
