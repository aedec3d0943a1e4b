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

/// A piece, or a part of one, that is asked for in one request.
struct Job {
    PieceRequest request;
    ArrayView to;
};

/// Receives pieces from one connection straight to where they belong, by way of a buffer if their
/// runs there are short. The sender is trusted in nothing: it can fill the piece with wrong values,
/// but write nowhere else.
class PieceReceiver {
  public:
    /// The next piece on the connection must be this one. Throws PeerSilent if nothing comes for as
    /// long as `limit`, Refused if the answer is an error, DecodeError if it is not what was asked
    /// for, StagingError if a checksum is wrong.
    [[nodiscard]] asio::awaitable<void> receive(Connection& connection, const Job& job,
                                                std::chrono::nanoseconds limit);

  private:
    using Cursor = RunCursor<std::byte>;
    [[nodiscard]] asio::awaitable<void> scatter(Connection& connection, Cursor& cursor,
                                                std::int64_t bytes, std::chrono::nanoseconds limit);

    std::vector<iovec> buffers_;
    std::vector<std::byte> packed_;
};

} // namespace uzushio::staging::socket
