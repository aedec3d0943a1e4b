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

/// Sends pieces over one connection, straight from where they are if their runs are long, packed
/// piece by piece into a buffer of its own otherwise.
class PieceSender {
  public:
    /// A peer that takes nothing for as long as `patience` is cut off.
    PieceSender(Connection& connection, std::chrono::nanoseconds patience)
        : connection_(connection), patience_(patience) {}

    [[nodiscard]] asio::awaitable<void> send(const ConstArrayView& values,
                                             const PieceRequest& request);

  private:
    using Cursor = RunCursor<const std::byte>;
    /// The next `bytes` bytes as buffers behind those that are there; some may be left for the
    /// next call.
    [[nodiscard]] std::int64_t gather(Cursor& cursor, std::int64_t bytes);

    Connection& connection_;
    std::chrono::nanoseconds patience_;
    std::vector<iovec> buffers_;
    std::vector<std::byte> packed_;
};

} // namespace uzushio::staging::socket
