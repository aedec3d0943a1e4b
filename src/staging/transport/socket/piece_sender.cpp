#include "staging/transport/socket/piece_sender.hpp"

#include <algorithm>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include "staging/transport/socket/runs.hpp"
#include "staging/wire/checksum.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

/// Bytes of one part of a piece; large enough that a system call and a message for each cost
/// nothing.
constexpr std::int64_t part_bytes = std::int64_t{4} << 20;
/// With checksums a part is read twice, and should stay in the cache.
constexpr std::int64_t summed_part_bytes = std::int64_t{512} << 10;

} // namespace

std::int64_t PieceSender::gather(Cursor& cursor, std::int64_t bytes) {
    if (cursor.run_bytes() >= short_run)
        return list_runs(cursor, bytes, buffers_);
    packed_.resize(packed_bytes);
    const auto size = static_cast<std::size_t>(std::min(bytes, packed_bytes));
    pack(cursor, std::span(packed_).first(size));
    buffers_.push_back({packed_.data(), size});
    return static_cast<std::int64_t>(size);
}

asio::awaitable<void> PieceSender::send(const ConstArrayView& values, const PieceRequest& request) {
    Cursor cursor(values, request.order);
    std::uint64_t offset = 0;
    do {
        const std::int64_t part =
            std::min(cursor.left(), request.checksum ? summed_part_bytes : part_bytes);
        PieceData head{request.request, offset, static_cast<std::uint64_t>(part), {}};
        if (request.checksum)
            head.checksum = sum_runs(cursor, part);
        const auto message = encode(head);
        buffers_.assign(1, {const_cast<std::byte*>(message.data()), message.size()});
        std::int64_t left = part;
        do {
            left -= gather(cursor, left);
            co_await connection_.send(std::span(buffers_), timeout_);
            buffers_.clear();
        } while (left > 0);
        offset += static_cast<std::uint64_t>(part);
        if (cursor.left() > 0) // let other coroutines run
            co_await asio::post(connection_.get_executor(), asio::use_awaitable);
    } while (cursor.left() > 0);
}

} // namespace uzushio::staging::socket
