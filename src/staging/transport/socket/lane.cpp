#include "staging/transport/socket/lane.hpp"

#include <utility>
#include <vector>

#include "staging/staging_error.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

/// The next request is there before the last one is answered: two large ones at least, and of small
/// ones as many as hide the way there and back, but not more than fit into a socket's buffer.
constexpr std::size_t fewest_ahead = 2;
constexpr std::size_t most_ahead = 64;
constexpr std::int64_t bytes_ahead = std::int64_t{4} << 20;

} // namespace

asio::awaitable<void> Lane::work(Jobs& jobs, std::chrono::nanoseconds limit) {
    const bool reused = connection_ != nullptr;
    answered_ = false;
    bool again = false;
    try {
        co_await work_once(jobs, limit);
    } catch (const PeerGone&) {
        if (!reused || answered_ || !connection_)
            throw;
        again = true;
    }
    if (!again)
        co_return;
    connection_->close();
    connection_.reset();
    jobs.insert(jobs.begin(), asked_.begin(), asked_.end());
    co_await work_once(jobs, limit);
}

asio::awaitable<void> Lane::work_once(Jobs& jobs, std::chrono::nanoseconds limit) {
    asked_.clear();
    asked_bytes_ = 0;
    if (!connection_) {
        Dialed dialed = co_await dial(io_, call_, after(limit));
        connection_ = std::move(dialed.connection);
    }
    const auto connection = connection_;
    for (;;) {
        co_await ask(jobs, limit);
        if (asked_.empty())
            co_return;
        co_await receiver_.receive(*connection, asked_.front(), limit);
        answered_ = true;
        asked_bytes_ -= asked_.front().to.bytes();
        asked_.pop_front();
    }
}

asio::awaitable<void> Lane::ask(Jobs& jobs, std::chrono::nanoseconds limit) {
    std::vector<std::byte> requests;
    while (!jobs.empty() && (asked_.size() < fewest_ahead ||
                             (asked_.size() < most_ahead && asked_bytes_ < bytes_ahead))) {
        asked_.push_back(jobs.front());
        jobs.pop_front();
        asked_bytes_ += asked_.back().to.bytes();
        const auto request = encode(asked_.back().request);
        requests.insert(requests.end(), request.begin(), request.end());
    }
    if (!requests.empty())
        co_await connection_->send(std::span<const std::byte>(requests), limit);
}

void Lane::cut() noexcept {
    if (connection_)
        connection_->close();
    connection_.reset();
}

} // namespace uzushio::staging::socket
