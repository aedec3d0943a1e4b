#include "staging/relay/joint.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "staging/staging_error.hpp"

namespace uzushio::staging::relay {
namespace {

using socket::Transfer;
using socket::Want;
using Peer = std::shared_ptr<socket::Connection>;

/// While the other side's system has more than its share to take: it does not tell when it has.
constexpr auto short_pause = std::chrono::milliseconds(1);
/// After so many bytes it is the turn of other connections.
constexpr std::uint64_t turn_bytes = std::uint64_t{4} << 20;
/// For the last words of a writer, which a slow reader is still to take, and of a reader.
constexpr auto patience_with_readers = std::chrono::seconds(60);
constexpr auto patience_with_writers = std::chrono::seconds(1);

asio::awaitable<void> pause(asio::io_context& io, std::chrono::nanoseconds time) {
    asio::steady_timer timer(io, time);
    co_await timer.async_wait(asio::use_awaitable);
}

/// What the two directions between a pair of connections have in common.
struct Joint {
    Joint(asio::io_context& context, Allowance& shared)
        : io(context), allowance(shared), news(context) {
        news.expires_at(asio::steady_timer::time_point::max());
    }
    void ended(Stream side) {
        first = first.value_or(side);
        news.cancel();
    }
    asio::io_context& io;
    Allowance& allowance;
    asio::steady_timer news;     ///< cancelled when there are some
    std::optional<Stream> first; ///< side that ended first
    bool up_over = false;        ///< nothing more comes from the writer
    bool down_over = false;      ///< nothing more comes from the reader
};

Stream other(Stream side) { return side == Stream::up ? Stream::down : Stream::up; }

/// One direction of a joint: what comes from the side `side`.
class Direction {
  public:
    Direction(Joint& joint, Stream side, Peer from, Peer to)
        : joint_(joint), side_(side), from_(std::move(from)), to_(std::move(to)) {}

    /// Pass on what comes, until it has ended or nobody is left to take it.
    asio::awaitable<void> run(std::uint64_t& passed) {
        for (;;) {
            try {
                co_await pass_on(passed);
                joint_.ended(side_);
                co_return;
            } catch (const StagingError&) { // cut
                joint_.ended(at_work_);
                if (at_work_ == side_ || side_ == Stream::up)
                    co_return;
            }
            // The writer has gone before: its last words may still be on their way to the reader,
            // who is listened to until it goes too.
            deaf_ = true;
        }
    }

  private:
    asio::awaitable<void> pass_on(std::uint64_t& passed) {
        std::uint64_t turn = 0;
        std::size_t owed = 0; // offered before: TLS wants no less
        for (;;) {
            at_work_ = side_;
            const Transfer seen = from_->try_peek(joint_.allowance.buffer());
            if (seen.bytes == 0 && seen.want == Want::nothing)
                co_return;
            if (seen.bytes == 0) {
                co_await from_->can_peek(seen.want);
                continue;
            }
            if (deaf_) {
                from_->skip(seen.bytes);
                continue;
            }
            at_work_ = other(side_);
            const std::size_t held = to_->held_out();
            const std::size_t share = joint_.allowance.share();
            if (held >= share && owed == 0) {
                co_await pause(joint_.io, short_pause);
                continue;
            }
            const std::size_t room = share - std::min(share, held);
            const iovec bytes{joint_.allowance.buffer().data(),
                              std::min(seen.bytes, std::max(room, owed))};
            const Transfer sent = to_->try_write({&bytes, 1});
            if (sent.bytes == 0) {
                if (sent.want == Want::nothing)
                    throw PeerGone("The connection was closed.");
                owed = bytes.iov_len;
                co_await to_->can_write(sent.want);
                continue;
            }
            owed = 0;
            at_work_ = side_;
            from_->skip(sent.bytes);
            from_->limit_ahead(share);
            passed += sent.bytes;
            turn += sent.bytes;
            if (turn >= turn_bytes) {
                turn = 0;
                co_await asio::post(joint_.io, asio::use_awaitable);
            }
        }
    }

    Joint& joint_;
    Stream side_;
    Peer from_;
    Peer to_;
    Stream at_work_ = Stream::up; ///< the side that a fault now is of
    bool deaf_ = false;           ///< what comes is thrown away
};

/// Let what was sent to a side arrive there, while it is there and not for longer than `limit`.
asio::awaitable<void> part_with(Joint& joint, const Peer& side, const bool& over,
                                std::chrono::nanoseconds limit) {
    side->finish();
    const auto end = socket::after(limit);
    while (!over && !side->delivered() && socket::Clock::now() < end)
        co_await pause(joint.io, std::chrono::milliseconds(5));
}

} // namespace

asio::awaitable<Stream> join(asio::io_context& io, Peer up, Peer down, Allowance& allowance,
                             std::uint64_t& passed) {
    // In shared memory: what ends last takes it away.
    struct Pair {
        Pair(asio::io_context& io_, const Peer& up_, const Peer& down_, Allowance& allowance_)
            : joint(io_, allowance_), from_up(joint, Stream::up, up_, down_),
              from_down(joint, Stream::down, down_, up_) {}
        Joint joint;
        Direction from_up, from_down;
        std::uint64_t requests = 0;
    };
    const auto pair = std::make_shared<Pair>(io, up, down, allowance);
    const std::shared_ptr<Joint> joint(pair, &pair->joint);
    allowance.add(up);
    allowance.add(down);
    const auto over = [pair](bool Joint::* flag, Stream side) {
        return [pair, flag, side](std::exception_ptr) {
            pair->joint.*flag = true;
            pair->joint.ended(side);
        };
    };
    asio::co_spawn(io, pair->from_up.run(passed), over(&Joint::up_over, Stream::up));
    asio::co_spawn(io, pair->from_down.run(pair->requests), over(&Joint::down_over, Stream::down));
    const auto wait = [joint]() -> asio::awaitable<void> {
        asio::error_code cancelled;
        co_await joint->news.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    };
    while (!joint->first)
        co_await wait();
    while (*joint->first == Stream::up && !joint->up_over && !joint->down_over)
        co_await wait();
    if (*joint->first == Stream::up)
        co_await part_with(*joint, down, joint->down_over, patience_with_readers);
    else
        co_await part_with(*joint, up, joint->up_over, patience_with_writers);
    up->close();
    down->close();
    allowance.remove(up);
    allowance.remove(down);
    while (!joint->up_over || !joint->down_over)
        co_await wait();
    co_return *joint->first;
}

} // namespace uzushio::staging::relay
