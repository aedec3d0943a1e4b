#include "staging/transport/mpi/source.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "parallel/backoff.hpp"
#include "parallel/wait_hook.hpp"
#include "staging/datamodel/select.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/mpi/get_lane.hpp"
#include "staging/transport/mpi/introduction.hpp"
#include "staging/transport/mpi/job.hpp"
#include "staging/transport/mpi/naps.hpp"
#include "staging/transport/mpi/pull_lane.hpp"
#include "staging/transport/mpi/tags.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {
namespace {

using Clock = std::chrono::steady_clock;

/// Of one tile each: so much memory a reader's rank takes at most, however many writers it has.
constexpr std::size_t most_buffers = 16;
constexpr std::chrono::nanoseconds most_wait_for_windows = std::chrono::seconds(5);
static_assert(GetLane::span_bytes == most_tile_bytes, "lanes share the buffers");

double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

SegmentPlace place_of(const Announce& step, std::uint32_t writer) {
    return writer < step.places.size() ? step.places[writer] : SegmentPlace{};
}

/// Where a piece is in the writer's process: addresses to reckon with, never looked at.
ConstArrayView stored(const Announce& step, std::uint32_t writer, const Fetch& fetch) {
    const SegmentPlace place = place_of(step, writer);
    return select(step.step, writer, fetch.request,
                  {reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(place.handle)),
                   place.bytes});
}

} // namespace

std::unique_ptr<Source> MpiSource::attach(const std::string& stream,
                                          const parallel::CollectiveGroup& group,
                                          const ReaderOptions& options) {
    const Introduction found = introduce(stream, group, options);
    Link link(found.writers, found.readers);
    WindowsToCome windows;
    if (found.mode != MpiMode::two_sided)
        windows = make_windows(link, found.mode);
    auto source =
        std::make_unique<MpiSource>(std::move(link), std::move(windows), found.channel, found.mode);
    group.run_collectively(
        [&] { source->wait_for_windows(std::min(options.attach_limit, most_wait_for_windows)); });
    return source;
}

void MpiSource::wait_for_windows(std::chrono::nanoseconds limit) const {
    const auto deadline = Clock::now() + limit;
    while (windows_.valid() && Clock::now() < deadline &&
           windows_.wait_until(std::min<Clock::time_point>(
               deadline, Clock::now() + parallel::wait_hook_interval)) != std::future_status::ready)
        parallel::run_wait_hooks();
}

MpiSource::MpiSource(Link link, WindowsToCome windows, std::uint32_t channel, MpiMode mode)
    : link_(std::move(link)), windows_(std::move(windows)), channel_(channel), mode_(mode),
      buffers_(most_tile_bytes, most_buffers) {
    if (mode_ == MpiMode::push)
        for (std::uint64_t at = 0; at + most_put_bytes <= Windows::landing_bytes;
             at += most_put_bytes)
            places_.push_back(at);
}

MpiSource::~MpiSource() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized)
        say(Detach{}); // each rank for itself: it may be the last one that reads
}

void MpiSource::say(const Message& message) {
    outgoing_.sweep();
    outgoing_.send(Link::comm(), link_.writer(0), tag(channel_, Talk::up), encode(message));
}

Announced MpiSource::next(std::chrono::nanoseconds limit) {
    if (ended_)
        return {Arrival::ended, nullptr};
    if (!asked_)
        say(Next{});
    asked_ = true;
    const auto deadline = Clock::now() + limit;
    Received message;
    parallel::WaitHookTimer interrupts;
    for (parallel::Backoff backoff;
         !receive(Link::comm(), link_.writer(0), tag(channel_, Talk::down), message);
         backoff.pause()) {
        outgoing_.sweep();
        interrupts.poll();
        if (Clock::now() >= deadline)
            return {Arrival::timeout, nullptr};
    }
    asked_ = false;
    if (is_announce(message.bytes))
        return {Arrival::step,
                std::make_shared<const std::vector<std::byte>>(std::move(message.bytes))};
    const Message said = decode_message(message.bytes);
    ended_ = true;
    if (std::holds_alternative<End>(said))
        return {Arrival::ended, nullptr};
    if (const auto* error = std::get_if<Error>(&said))
        throw PeerGone(error->text);
    throw StagingError("The writer sent something else than a step: build both sides from the same "
                       "Uzushio.");
}

void MpiSource::release(std::uint64_t sequence) { say(Release{sequence}); }

const Windows* MpiSource::windows() const {
    return is_there(windows_) ? windows_.get().get() : nullptr;
}

std::unique_ptr<Lane> MpiSource::lane(const Announce& step, std::uint32_t writer,
                                      const std::vector<const Fetch*>& wanted) {
    if (mode_ == MpiMode::pull && windows() != nullptr && place_of(step, writer).process != 0)
        return pull_lane(step, writer, wanted);
    return ask_lane(step, writer, wanted);
}

std::unique_ptr<Lane> MpiSource::pull_lane(const Announce& step, std::uint32_t writer,
                                           const std::vector<const Fetch*>& wanted) {
    std::vector<GetLane::Wanted> pieces;
    for (const Fetch* fetch : wanted)
        pieces.push_back({fetch->to, stored(step, writer, *fetch), fetch->request.order});
    const int rank = static_cast<int>(writer);
    return std::make_unique<PullLane>(
        std::make_unique<GetLane>(link_, *windows(), channel_, rank, std::move(pieces), buffers_,
                                  outgoing_),
        rank, [this, &step, writer, &wanted](std::size_t first) {
            return ask_lane(step, writer, std::span(wanted).subspan(first));
        });
}

std::unique_ptr<Lane> MpiSource::ask_lane(const Announce& step, std::uint32_t writer,
                                          std::span<const Fetch* const> wanted) {
    const bool put = mode_ == MpiMode::push && windows() != nullptr;
    std::vector<AskLane::Wanted> pieces;
    for (const Fetch* fetch : wanted) {
        const Order order = fetch->request.order;
        Manner manner{put, put ? most_put_bytes : most_tile_bytes};
        if (!put && place_of(step, writer).process != 0 && is_packed(fetch->to, order) &&
            is_packed(stored(step, writer, *fetch), order))
            manner.tile_bytes = most_straight_bytes;
        pieces.push_back({fetch, manner});
    }
    return std::make_unique<AskLane>(link_, windows(), channel_, static_cast<int>(writer),
                                     std::move(pieces), buffers_, places_, outgoing_);
}

void MpiSource::fetch(const Announce& step, std::span<const Fetch> wanted,
                      std::chrono::nanoseconds limit) {
    if (broken_)
        throw StagingError("A read was given up before: detach from the stream, and attach again.");
    std::map<std::uint32_t, std::vector<const Fetch*>> by_writer;
    for (const Fetch& fetch : wanted) {
        if (fetch.rank >= static_cast<std::uint32_t>(link_.writers()))
            throw StagingError("The writer has no rank " + std::to_string(fetch.rank) + ".");
        by_writer[fetch.rank].push_back(&fetch);
    }
    std::vector<std::unique_ptr<Lane>> lanes;
    for (const auto& [writer, pieces] : by_writer)
        lanes.push_back(lane(step, writer, pieces));
    broken_ = true; // unless all comes
    auto deadline = Clock::now() + limit;
    const SharpSleep sharp;
    parallel::WaitHookTimer interrupts;
    for (Naps naps; !lanes.empty();) {
        bool moved = false;
        for (auto& one : lanes)
            moved |= one->progress();
        std::erase_if(lanes, [](const auto& one) { return one->done(); });
        outgoing_.sweep();
        if (moved) {
            deadline = Clock::now() + limit;
            naps.refresh();
        } else if (Clock::now() >= deadline) {
            for (const auto& one : lanes)
                one->give_up();
            throw PeerSilent("The writer sent nothing for " + std::to_string(seconds(limit)) +
                             " s: it is stopped, or overloaded. Detach, or wait longer "
                             "(answer_limit).");
        } else if (!lanes.empty()) {
            interrupts.poll();
            naps.pause();
        }
    }
    broken_ = false;
}

} // namespace uzushio::staging::mpi
