#include "staging/relay/splice.hpp"

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

/// Side of a relay: towards the writer, or towards readers.
enum class RelaySide : std::uint8_t { upstream, downstream };

using socket::IoDirection;
using socket::IoResult;
using Peer = std::shared_ptr<socket::Connection>;

/// Pause while the unacknowledged bytes exceed the share: there is no event for their
/// acknowledgement.
constexpr auto short_pause = std::chrono::milliseconds(1);
/// After so many bytes other connections are served.
constexpr std::uint64_t slice_bytes = std::uint64_t{4} << 20;
/// Timeouts for the last bytes to a slow reader, and to a writer.
constexpr auto reader_drain_timeout = std::chrono::seconds(60);
constexpr auto writer_drain_timeout = std::chrono::seconds(1);

asio::awaitable<void> pause(asio::io_context& io, std::chrono::nanoseconds time) {
    asio::steady_timer timer(io, time);
    co_await timer.async_wait(asio::use_awaitable);
}

/// Common state of both directions of a splice.
struct SpliceState {
    SpliceState(asio::io_context& context, BufferBudget& shared)
        : io(context), budget(shared), event(context) {
        event.expires_at(asio::steady_timer::time_point::max());
    }
    void ended(RelaySide side) {
        first = first.value_or(side);
        event.cancel();
    }
    asio::io_context& io;
    BufferBudget& budget;
    asio::steady_timer event;       ///< cancelled at a change of the state
    std::optional<RelaySide> first; ///< side that ended first
    bool up_over = false;           ///< no more bytes from the writer
    bool down_over = false;         ///< no more bytes from the reader
};

RelaySide other(RelaySide side) {
    return side == RelaySide::upstream ? RelaySide::downstream : RelaySide::upstream;
}

/// One direction of a splice: bytes from `side` to the other side.
class Forwarder {
  public:
    Forwarder(SpliceState& state, RelaySide side, Peer from, Peer to)
        : state_(state), side_(side), from_(std::move(from)), to_(std::move(to)) {}

    /// Forward bytes until the source has ended or the destination is closed.
    asio::awaitable<void> run(std::uint64_t& passed) {
        for (;;) {
            try {
                co_await forward(passed);
                state_.ended(side_);
                co_return;
            } catch (const StagingError&) { // a connection was closed
                state_.ended(active_side_);
                if (active_side_ == side_ || side_ == RelaySide::upstream)
                    co_return;
            }
            // The writer has ended: its last bytes may still be in transit to the reader, whose
            // bytes are discarded until it closes too.
            discarding_ = true;
        }
    }

  private:
    asio::awaitable<void> forward(std::uint64_t& passed) {
        std::uint64_t slice = 0;
        std::size_t retry_bytes = 0; // size of the last attempt: TLS needs the same again
        for (;;) {
            active_side_ = side_;
            const IoResult seen = from_->try_peek(state_.budget.buffer());
            if (seen.bytes == 0 && seen.wait_for == IoDirection::none)
                co_return;
            if (seen.bytes == 0) {
                co_await from_->can_peek(seen.wait_for);
                continue;
            }
            if (discarding_) {
                from_->skip(seen.bytes);
                continue;
            }
            active_side_ = other(side_);
            const std::size_t held = to_->unacknowledged_bytes();
            const std::size_t share = state_.budget.share();
            if (held >= share && retry_bytes == 0) {
                co_await pause(state_.io, short_pause);
                continue;
            }
            const std::size_t room = share - std::min(share, held);
            const iovec bytes{state_.budget.buffer().data(),
                              std::min(seen.bytes, std::max(room, retry_bytes))};
            const IoResult sent = to_->try_write({&bytes, 1});
            if (sent.bytes == 0) {
                if (sent.wait_for == IoDirection::none)
                    throw PeerGone("The connection was closed.");
                retry_bytes = bytes.iov_len;
                co_await to_->can_write(sent.wait_for);
                continue;
            }
            retry_bytes = 0;
            active_side_ = side_;
            from_->skip(sent.bytes);
            from_->limit_receive_window(share);
            passed += sent.bytes;
            slice += sent.bytes;
            if (slice >= slice_bytes) {
                slice = 0;
                co_await asio::post(state_.io, asio::use_awaitable);
            }
        }
    }

    SpliceState& state_;
    RelaySide side_;
    Peer from_;
    Peer to_;
    RelaySide active_side_ = RelaySide::upstream; ///< side of the current operation, for errors
    bool discarding_ = false;                     ///< received bytes are discarded
};

/// Wait until the bytes sent to a side have arrived, while it is connected, for at most `limit`.
asio::awaitable<void> drain(SpliceState& state, const Peer& side, const bool& over,
                            std::chrono::nanoseconds limit) {
    side->shutdown_send();
    const auto end = socket::after(limit);
    while (!over && !side->delivered() && socket::Clock::now() < end)
        co_await pause(state.io, std::chrono::milliseconds(5));
}

} // namespace

asio::awaitable<void> splice(asio::io_context& io, Peer up, Peer down, BufferBudget& budget,
                             std::uint64_t& passed) {
    // In shared memory, released by the last coroutine.
    struct Pair {
        Pair(asio::io_context& io_, const Peer& up_, const Peer& down_, BufferBudget& budget_)
            : state(io_, budget_), from_up(state, RelaySide::upstream, up_, down_),
              from_down(state, RelaySide::downstream, down_, up_) {}
        SpliceState state;
        Forwarder from_up, from_down;
        std::uint64_t requests = 0;
    };
    const auto pair = std::make_shared<Pair>(io, up, down, budget);
    const std::shared_ptr<SpliceState> state(pair, &pair->state);
    budget.add(up);
    budget.add(down);
    const auto over = [pair](bool SpliceState::* flag, RelaySide side) {
        return [pair, flag, side](std::exception_ptr) {
            pair->state.*flag = true;
            pair->state.ended(side);
        };
    };
    asio::co_spawn(io, pair->from_up.run(passed), over(&SpliceState::up_over, RelaySide::upstream));
    asio::co_spawn(io, pair->from_down.run(pair->requests),
                   over(&SpliceState::down_over, RelaySide::downstream));
    const auto wait = [state]() -> asio::awaitable<void> {
        asio::error_code cancelled;
        co_await state->event.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    };
    while (!state->first)
        co_await wait();
    while (*state->first == RelaySide::upstream && !state->up_over && !state->down_over)
        co_await wait();
    if (*state->first == RelaySide::upstream)
        co_await drain(*state, down, state->down_over, reader_drain_timeout);
    else
        co_await drain(*state, up, state->up_over, writer_drain_timeout);
    up->close();
    down->close();
    budget.remove(up);
    budget.remove(down);
    while (!state->up_over || !state->down_over)
        co_await wait();
}

} // namespace uzushio::staging::relay
