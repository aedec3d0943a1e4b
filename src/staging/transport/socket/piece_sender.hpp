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

/// Sender of pieces over one connection, directly from their memory if the runs are long, else
/// packed into a buffer.
class PieceSender {
  public:
    /// A peer that reads nothing within `timeout` is disconnected.
    PieceSender(Connection& connection, std::chrono::nanoseconds timeout)
        : connection_(connection), timeout_(timeout) {}

    [[nodiscard]] asio::awaitable<void> send(const ConstArrayView& values,
                                             const PieceRequest& request);

  private:
    using Cursor = RunCursor<const std::byte>;
    /// Append the next `bytes` bytes to the buffers; some may be left for the next call. Returns
    /// the appended bytes.
    [[nodiscard]] std::int64_t gather(Cursor& cursor, std::int64_t bytes);

    Connection& connection_;
    std::chrono::nanoseconds timeout_;
    std::vector<iovec> buffers_;
    std::vector<std::byte> packed_;
};

} // namespace uzushio::staging::socket
