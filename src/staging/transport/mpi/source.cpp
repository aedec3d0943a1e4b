#include "staging/transport/mpi/source.hpp"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "parallel/backoff.hpp"
#include "parallel/communicator.hpp"
#include "parallel/wait_hook.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/to_seconds.hpp"
#include "staging/transport/mpi/connect.hpp"
#include "staging/transport/mpi/get_transfer.hpp"
#include "staging/transport/mpi/tags.hpp"
#include "staging/transport/mpi/tile_sizes.hpp"
#include "staging/transport/mpi/timer_slack_guard.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/select.hpp"

namespace uzushio::staging::mpi {
namespace {

using Clock = std::chrono::steady_clock;

/// Of one tile each: limits the memory of a reader's rank, for any number of writers.
constexpr std::size_t max_buffers = 16;
constexpr std::chrono::nanoseconds window_timeout = std::chrono::seconds(5);
static_assert(GetTransfer::span_bytes == max_tile_bytes, "transfers share the buffers");

/// Growing backoff between polls of a transfer: MPI moves large messages in parts, in its calls. 5
/// us, and longer only after some time without progress.
class TransferBackoff {
  public:
    /// Restart with the shortest pause.
    void refresh() { *this = {}; }
    void pause() {
        std::this_thread::sleep_for(nap_);
        slept_ += nap_;
        if (slept_ > grace_period)
            nap_ = std::min(longest, nap_ + nap_ / 2);
    }

  private:
    static constexpr std::chrono::nanoseconds longest = std::chrono::microseconds(500);
    static constexpr std::chrono::nanoseconds grace_period = std::chrono::milliseconds(20);

    std::chrono::nanoseconds nap_ = std::chrono::microseconds(5);
    std::chrono::nanoseconds slept_{};
};

SegmentPlace place_of(const Announce& step, std::uint32_t writer) {
    return writer < step.places.size() ? step.places[writer] : SegmentPlace{};
}

/// Return a piece's view in the writer's process: addresses, never dereferenced here.
ConstArrayView stored(const Announce& step, std::uint32_t writer, const Fetch& fetch) {
    const SegmentPlace place = place_of(step, writer);
    return select(step.step, writer, fetch.request,
                  {reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(place.handle)),
                   place.bytes});
}

} // namespace

std::unique_ptr<StepSource> MpiSource::attach(const std::string& stream,
                                              const parallel::CollectiveGroup& group,
                                              const ReaderOptions& options) {
    const Handshake handshake = connect(stream, group, options);
    PeerRanks peers(handshake.writers, handshake.readers);
    PendingWindows windows;
    if (handshake.mode != MpiMode::two_sided)
        windows = make_windows(peers, handshake.mode);
    auto source =
        std::make_unique<MpiSource>(std::move(peers), std::move(windows), handshake.channel,
                                    handshake.mode, options.latest_only);
    group.run_collectively(
        [&] { source->wait_for_windows(std::min(options.attach_limit, window_timeout)); });
    return source;
}

void MpiSource::wait_for_windows(std::chrono::nanoseconds limit) const {
    const auto deadline = Clock::now() + limit;
    while (windows_.valid() && Clock::now() < deadline &&
           windows_.wait_until(std::min<Clock::time_point>(
               deadline, Clock::now() + parallel::wait_hook_interval)) != std::future_status::ready)
        parallel::run_wait_hooks();
}

MpiSource::MpiSource(PeerRanks peers, PendingWindows windows, std::uint32_t channel, MpiMode mode,
                     bool latest_only)
    : ranks_(std::move(peers)), windows_(std::move(windows)), channel_(channel), mode_(mode),
      latest_only_(latest_only), buffers_(max_tile_bytes, max_buffers) {
    if (mode_ == MpiMode::push)
        for (std::uint64_t at = 0; at + max_put_bytes <= Windows::put_buffer_bytes;
             at += max_put_bytes)
            slots_.push_back(at);
}

MpiSource::~MpiSource() {
    if (!parallel::mpi_is_finalized())
        send_control(Detach{}); // each rank separately: it may be the last reader of the step
}

void MpiSource::send_control(const Message& message) {
    sends_.test_all();
    sends_.send(PeerRanks::comm(), ranks_.writer(0), tag(channel_, MessageKind::control),
                encode(message));
}

AnnouncedStep MpiSource::next(std::chrono::nanoseconds limit) {
    if (ended_)
        return {StepStatus::ended, nullptr};
    if (!asked_)
        send_control(Next{latest_only_});
    asked_ = true;
    const auto deadline = Clock::now() + limit;
    ReceivedBytes message;
    parallel::WaitHookTimer interrupts;
    for (parallel::Backoff backoff;;) {
        if (receive(PeerRanks::comm(), ranks_.writer(0), tag(channel_, MessageKind::control_reply),
                    message)) {
            if (!is_type<Reply>(message.bytes))
                break;
            replies_.push_back(std::get<Reply>(decode_message(message.bytes)));
            continue;
        }
        sends_.test_all();
        interrupts.poll();
        if (Clock::now() >= deadline)
            return {StepStatus::timeout, nullptr};
        backoff.pause();
    }
    asked_ = false;
    if (is_type<Announce>(message.bytes))
        return {StepStatus::step,
                std::make_shared<const std::vector<std::byte>>(std::move(message.bytes))};
    const Message said = decode_message(message.bytes);
    ended_ = true;
    if (std::holds_alternative<End>(said))
        return {StepStatus::ended, nullptr};
    if (const auto* error = std::get_if<Error>(&said))
        throw PeerGone(error->text);
    throw StagingError(
        "The writer sent another message than a step: build both sides from the same Uzushio.");
}

void MpiSource::release(std::uint64_t sequence) { send_control(Release{sequence}); }

void MpiSource::send(const Command& command) { send_control(command); }

const Windows* MpiSource::windows() const {
    return is_ready(windows_) ? windows_.get().get() : nullptr;
}

std::unique_ptr<RankTransfer> MpiSource::transfer(const Announce& step, std::uint32_t writer,
                                                  const std::vector<const Fetch*>& wanted) {
    if (mode_ == MpiMode::pull && windows() != nullptr && place_of(step, writer).process != 0)
        return get_transfer(step, writer, wanted);
    return request_transfer(step, writer, wanted);
}

std::unique_ptr<RankTransfer> MpiSource::get_transfer(const Announce& step, std::uint32_t writer,
                                                      const std::vector<const Fetch*>& wanted) {
    std::vector<GetTransfer::Item> pieces;
    for (const Fetch* fetch : wanted)
        pieces.push_back({fetch->to, stored(step, writer, *fetch), fetch->request.order});
    return std::make_unique<GetTransfer>(
        ranks_, *windows(), channel_, static_cast<int>(writer), std::move(pieces), buffers_, sends_,
        [this, &step, writer, &wanted](std::size_t first) {
            return request_transfer(step, writer, std::span(wanted).subspan(first));
        });
}

std::unique_ptr<RankTransfer> MpiSource::request_transfer(const Announce& step,
                                                          std::uint32_t writer,
                                                          std::span<const Fetch* const> wanted) {
    const bool put = mode_ == MpiMode::push && windows() != nullptr;
    std::vector<RequestTransfer::Item> pieces;
    for (const Fetch* fetch : wanted) {
        const ComponentOrder order = fetch->request.order;
        TransferMode mode{put, put ? max_put_bytes : max_tile_bytes};
        if (!put && place_of(step, writer).process != 0 && is_packed(fetch->to, order) &&
            is_packed(stored(step, writer, *fetch), order))
            mode.tile_bytes = max_direct_bytes;
        pieces.push_back({fetch, mode});
    }
    return std::make_unique<RequestTransfer>(ranks_, windows(), channel_, static_cast<int>(writer),
                                             std::move(pieces), buffers_, slots_, sends_);
}

void MpiSource::fetch(const Announce& step, std::span<const Fetch> wanted,
                      std::chrono::nanoseconds limit) {
    require(!aborted_, "A read failed before: detach from the stream, and attach again.");
    std::map<std::uint32_t, std::vector<const Fetch*>> by_writer;
    for (const Fetch& fetch : wanted) {
        require(fetch.rank < static_cast<std::uint32_t>(ranks_.writers()),
                "The writer has no rank ", fetch.rank, ".");
        by_writer[fetch.rank].push_back(&fetch);
    }
    std::vector<std::unique_ptr<RankTransfer>> transfers;
    for (const auto& [writer, pieces] : by_writer)
        transfers.push_back(transfer(step, writer, pieces));
    aborted_ = true; // until all has arrived
    auto deadline = Clock::now() + limit;
    const TimerSlackGuard slack_guard;
    parallel::WaitHookTimer interrupts;
    for (TransferBackoff backoff; !transfers.empty();) {
        bool moved = false;
        for (auto& transfer : transfers)
            moved |= transfer->progress();
        std::erase_if(transfers, [](const auto& transfer) { return transfer->done(); });
        sends_.test_all();
        if (moved) {
            deadline = Clock::now() + limit;
            backoff.refresh();
        } else if (Clock::now() >= deadline) {
            for (const auto& transfer : transfers)
                transfer->throw_if_unreachable();
            throw PeerSilent(sentence("The writer sent nothing for ", to_seconds(limit),
                                      ": it is stopped, or overloaded. Detach, or wait longer "
                                      "(answer_limit)."));
        } else if (!transfers.empty()) {
            interrupts.poll();
            backoff.pause();
        }
    }
    aborted_ = false;
}

} // namespace uzushio::staging::mpi
