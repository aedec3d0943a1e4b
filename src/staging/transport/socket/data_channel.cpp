#include "staging/transport/socket/data_channel.hpp"

#include <utility>
#include <vector>

#include "staging/staging_error.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

/// Requests sent ahead of the answers: at least two large ones, and enough small ones to hide the
/// round trip, within the size of a socket's buffer.
constexpr std::size_t min_ahead = 2;
constexpr std::size_t max_ahead = 64;
constexpr std::int64_t max_bytes_ahead = std::int64_t{4} << 20;

} // namespace

asio::awaitable<void> DataChannel::work(PieceFetches& pieces, std::chrono::nanoseconds limit) {
    const bool reused = connection_ != nullptr;
    any_answered_ = false;
    bool again = false;
    try {
        co_await fetch_once(pieces, limit);
    } catch (const PeerGone&) {
        if (!reused || any_answered_ || !connection_)
            throw;
        again = true;
    }
    if (!again)
        co_return;
    connection_->close();
    connection_.reset();
    pieces.insert(pieces.begin(), requested_.begin(), requested_.end());
    co_await fetch_once(pieces, limit);
}

asio::awaitable<void> DataChannel::fetch_once(PieceFetches& pieces,
                                              std::chrono::nanoseconds limit) {
    requested_.clear();
    requested_bytes_ = 0;
    if (!connection_) {
        AuthenticatedConnection opened = co_await connect(io_, target_, after(limit));
        connection_ = std::move(opened.connection);
    }
    const auto connection = connection_;
    for (;;) {
        co_await send_requests(pieces, limit);
        if (requested_.empty())
            co_return;
        co_await receiver_.receive(*connection, requested_.front(), limit);
        any_answered_ = true;
        requested_bytes_ -= requested_.front().to.bytes();
        requested_.pop_front();
    }
}

asio::awaitable<void> DataChannel::send_requests(PieceFetches& pieces,
                                                 std::chrono::nanoseconds limit) {
    std::vector<std::byte> requests;
    while (!pieces.empty() &&
           (requested_.size() < min_ahead ||
            (requested_.size() < max_ahead && requested_bytes_ < max_bytes_ahead))) {
        requested_.push_back(pieces.front());
        pieces.pop_front();
        requested_bytes_ += requested_.back().to.bytes();
        const auto request = encode(requested_.back().request);
        requests.insert(requests.end(), request.begin(), request.end());
    }
    if (!requests.empty())
        co_await connection_->send(std::span<const std::byte>(requests), limit);
}

void DataChannel::cut() noexcept {
    if (connection_)
        connection_->close();
    connection_.reset();
}

} // namespace uzushio::staging::socket
