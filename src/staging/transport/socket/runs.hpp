#pragma once

#include <sys/uio.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "staging/datamodel/run_cursor.hpp"

namespace uzushio::staging::socket {

/// Shorter runs are copied into one buffer: a further iovec costs more than the copy.
inline constexpr std::int64_t short_run = 2048;

/// Size of such a buffer; it stays in the processor's cache.
inline constexpr std::int64_t packed_bytes = std::int64_t{256} << 10;

/// Append a cursor's next runs, up to `bytes` bytes or the maximum of one system call. Return the
/// bytes.
template <class Byte>
std::int64_t list_runs(RunCursor<Byte>& cursor, std::int64_t bytes, std::vector<iovec>& buffers) {
    std::int64_t listed = 0;
    while (listed < bytes && buffers.size() < IOV_MAX) {
        const std::span<Byte> run = cursor.next(bytes - listed);
        buffers.push_back({const_cast<std::byte*>(run.data()), run.size()});
        listed += static_cast<std::int64_t>(run.size());
    }
    return listed;
}

/// Remove bytes from the front of the buffers.
inline std::span<iovec> drop(std::span<iovec> buffers, std::size_t bytes) {
    while (!buffers.empty() && bytes >= buffers.front().iov_len) {
        bytes -= buffers.front().iov_len;
        buffers = buffers.subspan(1);
    }
    if (bytes > 0) {
        buffers.front().iov_base = static_cast<char*>(buffers.front().iov_base) + bytes;
        buffers.front().iov_len -= bytes;
    }
    return buffers;
}

} // namespace uzushio::staging::socket
