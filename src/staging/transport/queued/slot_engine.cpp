#include "staging/transport/queued/slot_engine.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "staging/in_seconds.hpp"
#include "staging/interrupt.hpp"
#include "staging/notice.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/wire/checksum.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::queued {
namespace {

/// When the program is to stop: for readers that move to take the last steps, and for rank 0 to end
/// a wait of all ranks in order.
constexpr auto stop_grace = std::chrono::seconds(2);

/// For a rank that has nothing in a step.
class NoSegment final : public Segment {
  public:
    std::span<std::byte> bytes() override { return {}; }
};

/// Do something, and keep what it throws.
template <class Work> void attempt(std::exception_ptr& error, Work&& work) {
    try {
        work();
    } catch (...) {
        error = std::current_exception();
    }
}

Endpoints gather(const parallel::CollectiveGroup& group, const Endpoint& own) {
    Endpoints all;
    for (const auto& bytes : group.gather(encode(Message(Endpoints{{own}})))) {
        const std::span all_bytes(bytes);
        const Frame frame = decode_frame(all_bytes.first<Frame::size>());
        const Message message = staging::decode(frame, all_bytes.subspan(Frame::size));
        all.ranks.push_back(std::get<Endpoints>(message).ranks.at(0));
    }
    return all;
}

} // namespace

/// Room in rank 0's queue, given back unless a step took it.
class SlotEngine::Room {
  public:
    explicit Room(Queue* queue) : queue_(queue) {}
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() {
        if (reserved_)
            queue_->cancel(bytes_);
    }

    bool reserve(std::size_t bytes) {
        bytes_ = bytes;
        return reserved_ = queue_->reserve(bytes);
    }
    std::uint64_t commit(std::shared_ptr<Announcement> announcement) {
        const std::uint64_t sequence = queue_->commit(std::move(announcement), bytes_);
        reserved_ = false;
        return sequence;
    }

  private:
    Queue* queue_;
    std::size_t bytes_ = 0;
    bool reserved_ = false;
};

SlotEngine::SlotEngine(const parallel::CollectiveGroup& group, const EngineOptions& options,
                       MakeSegment make_segment, const MakeService& make_service)
    : group_(stream_group(group.comm(), "this writer")), options_(options),
      pool_(std::move(make_segment), options.queue.depth + 1) {
    group_.run_collectively([&] {
        if (group_.rank() == 0)
            queue_ = std::make_unique<Queue>(options_.queue);
        service_ = make_service(held_, queue_.get());
    });
    const Endpoints endpoints = gather(group_, service_->endpoint());
    group_.run_collectively([&] {
        if (group_.rank() == 0)
            service_->open(endpoints);
    });
    parts_.resize(group_.rank() == 0 ? static_cast<std::size_t>(group_.size()) : 0);
}

SlotEngine::~SlotEngine() = default;

// ---- publishing -------------------------------------------------------------------------------

std::span<std::byte> SlotEngine::buffer(std::size_t bytes) {
    if (closed_)
        return {};
    if (handed_out_ == 0 && usual_ > 0 && (!open_ || open_->bytes().size() < usual_)) {
        open_.reset();
        try {
            open_ = pool_.take(usual_);
        } catch (const StagingError&) {
            return {}; // `publish` will need memory too, and tell all ranks
        }
    }
    const std::size_t at = aligned(handed_out_);
    handed_out_ = at + bytes;
    if (!open_ || handed_out_ > open_->bytes().size())
        return {};
    return open_->bytes().subspan(at, bytes);
}

std::optional<std::uint64_t> SlotEngine::publish(LocalStep step) {
    if (closed_)
        throw StagingError("The stream is closed: nothing can be published any more.");
    std::exception_ptr error;
    Room room(queue_.get());
    Arrangement arrangement;
    Offer mine;
    attempt(error, [&] { mine = offer(std::move(step), arrangement); });
    mine.failed = error != nullptr;

    const auto offers = group_.gather(encode(mine));
    Decision decision;
    if (group_.rank() == 0)
        decision = decide(offers, error, room);
    decision = from_rank_0(decision);
    usual_ = std::max(std::exchange(handed_out_, 0), arrangement.bytes);
    if (decision.failed)
        fail(error);
    if (decision.new_table) {
        if (mine.part)
            part_ = std::make_shared<const StepInfo>(std::move(*mine.part));
        first_block_ = static_cast<std::uint32_t>(group_.sum_before(part_->blocks.size()));
    }
    ++offered_;
    // One more than the queue holds: the one that `buffer` hands out.
    pool_.keep_at_most(decision.most_steps + 1);
    held_.keep(decision.kept);
    if (!decision.accepted)
        return std::nullopt;

    Outcome outcome;
    attempt(error, [&] { outcome = hold(arrangement); });
    outcome.failed = error != nullptr;
    const auto outcomes = group_.gather(encode(outcome));
    Verdict verdict;
    if (group_.rank() == 0)
        verdict = commit(outcomes, error, room);
    verdict = decode<Verdict>(group_.broadcast(encode(verdict)));
    if (verdict.failed) {
        --offered_;
        held_.keep(decision.kept);
        fail(error);
    }
    return sequence_++;
}

/// Rank 0's decision, for which it may wait for readers. Asked to stop, all ranks mostly are, and
/// rank 0 ends the wait for all; a rank that is asked alone leaves it.
Decision SlotEngine::from_rank_0(const Decision& decision) {
    if (group_.rank() == 0)
        return decode<Decision>(group_.broadcast(encode(decision)));
    const parallel::WaitHook stopping = heed_stop(stop_grace);
    return decode<Decision>(group_.broadcast({}));
}

/// All ranks throw, and rank 0 is told everything anew next time.
void SlotEngine::fail(const std::exception_ptr& error) {
    part_.reset();
    group_.agree(error);
    throw StagingError("A step could not be published, for a reason that no rank knows.");
}

Offer SlotEngine::offer(LocalStep step, Arrangement& arrangement) {
    Offer offer;
    offer.head.index = step.part.index;
    offer.head.time = step.part.time;
    offer.head.attributes = step.part.attributes;
    validate(offer.head);
    arrangement =
        arrange(std::move(step), static_cast<std::uint32_t>(group_.rank()),
                open_ ? std::span<const std::byte>(open_->bytes()) : std::span<const std::byte>());
    offer.bytes = arrangement.bytes;
    if (!part_ || *part_ != arrangement.part) {
        validate(arrangement.part);
        offer.part = arrangement.part;
    }
    return offer;
}

Decision SlotEngine::decide(const std::vector<std::vector<std::byte>>& offers,
                            std::exception_ptr& error, Room& room) {
    Decision decision;
    std::exception_ptr own;
    attempt(own, [&] {
        const parallel::WaitHook watching = group_.watch_abort();
        std::vector<StepInfo> heads;
        std::uint64_t most_bytes = 0;
        for (std::size_t rank = 0; rank < offers.size(); ++rank) {
            Offer offer = decode<Offer>(offers[rank]);
            decision.failed = decision.failed || offer.failed;
            most_bytes = std::max(most_bytes, offer.bytes);
            heads.push_back(std::move(offer.head));
            if (offer.part) {
                parts_[rank] = std::move(*offer.part);
                decision.new_table = true;
            }
        }
        if (decision.failed)
            return;
        head_ = merge(heads);
        if (decision.new_table)
            announcer_.set_table(merge(parts_));
        const parallel::WaitHook stopping = heed_stop();
        await_readers();
        decision.accepted = reserve(room, most_bytes);
        decision.most_steps = queue_->most_steps();
        decision.kept = queue_->sequences();
    });
    if (own) {
        decision = Decision();
        decision.failed = true;
        error = error ? error : own;
    }
    return decision;
}

void SlotEngine::await_readers() {
    if (readers_awaited_)
        return;
    const std::size_t wanted = options_.wait_for_readers;
    const auto so_far = [&] {
        return "The first step waits for " + std::to_string(wanted) +
               (wanted == 1 ? " reader" : " readers") + " (wait_for_readers), and " +
               std::to_string(queue_->readers()) + " came";
    };
    WaitNotice waiting;
    const parallel::WaitHook saying([&] {
        if (waiting.due())
            notice(so_far() + " so far; it waits for up to " + in_seconds(options_.wait_limit) +
                   "." +
                   (options_.contact.empty()
                        ? ""
                        : " Readers attach to " + options_.contact.string() + "."));
    });
    if (wanted > 0 && !queue_->wait_for_readers(wanted, options_.wait_limit))
        throw PeerGone(so_far() + " within " + in_seconds(options_.wait_limit) +
                       ": start them, raise wait_limit or lower wait_for_readers.");
    readers_awaited_ = true;
}

/// Room in the queue, as its policy says. The first wait for it that is long says so.
bool SlotEngine::reserve(Room& room, std::size_t bytes) {
    WaitNotice waiting;
    const parallel::WaitHook saying([&] {
        if (!wait_told_ && waiting.due()) {
            wait_told_ = true;
            notice("The solver waits for readers to release a step (queue.policy: block), for up "
                   "to " +
                   in_seconds(options_.queue.time_limit) + "; later waits are counted only.");
        }
    });
    return room.reserve(bytes);
}

/// Bring the values into a segment, and let the service at it.
Outcome SlotEngine::hold(const Arrangement& arrangement) {
    auto held = std::make_shared<HeldStep>();
    held->sequence = sequence_;
    held->part = part_;
    held->first_block = first_block_;
    if (arrangement.bytes == 0) {
        held->segment = std::make_shared<NoSegment>();
    } else {
        held->segment = open_ && open_->bytes().size() >= arrangement.bytes
                            ? open_
                            : pool_.take(arrangement.bytes);
        copied_ += fill(arrangement, held->segment->bytes());
        open_.reset();
    }
    Outcome outcome;
    outcome.place = held->segment->place();
    if (options_.checksums)
        for (const Block& block : part_->blocks)
            for (const StoredArray& array : block.arrays)
                outcome.checksums.push_back(
                    checksum(view_of(*part_, block, array, held->segment->bytes())));
    held_.put(std::move(held));
    return outcome;
}

Verdict SlotEngine::commit(const std::vector<std::vector<std::byte>>& outcomes,
                           std::exception_ptr& error, Room& room) {
    Verdict verdict;
    std::exception_ptr own;
    attempt(own, [&] {
        std::vector<SegmentPlace> places;
        std::vector<std::uint32_t> checksums;
        for (const auto& bytes : outcomes) {
            const Outcome outcome = decode<Outcome>(bytes);
            verdict.failed = verdict.failed || outcome.failed;
            places.push_back(outcome.place);
            checksums.insert(checksums.end(), outcome.checksums.begin(), outcome.checksums.end());
        }
        if (verdict.failed)
            return;
        if (std::all_of(places.begin(), places.end(),
                        [](const SegmentPlace& place) { return place == SegmentPlace{}; }))
            places.clear();
        if (options_.checksums)
            announcer_.set_checksums(checksums);
        [[maybe_unused]] const std::uint64_t sequence =
            room.commit(announcer_.announce(sequence_, places, head_));
        assert(sequence == sequence_ && "nobody else commits");
    });
    if (own) {
        verdict.failed = true;
        error = error ? error : own;
    }
    return verdict;
}

// ---- the end ----------------------------------------------------------------------------------

void SlotEngine::abandon() {
    closed_ = true;
    service_.reset();
}

void SlotEngine::close() {
    if (std::exchange(closed_, true))
        return;
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    std::exception_ptr error;
    if (group_.rank() == 0) {
        queue_->close();
        attempt(error, [&] {
            const parallel::WaitHook watching = group_.watch_abort();
            const parallel::WaitHook stopping = heed_stop(stop_grace);
            WaitNotice waiting;
            const parallel::WaitHook saying([&] {
                if (waiting.due())
                    notice("The stream's end waits for readers to take the last steps, for up to " +
                           in_seconds(options_.close_limit) + " (close_limit).");
            });
            (void)queue_->drain(options_.close_limit);
        });
    }
    {
        const parallel::WaitHook stopping = heed_stop(2 * stop_grace);
        group_.barrier(); // until then readers may ask any rank
    }
    const auto left = error ? Clock::duration(0) : options_.close_limit - (Clock::now() - start);
    attempt(error, [&] {
        service_->close(std::max<std::chrono::nanoseconds>(left, std::chrono::seconds(1)));
    });
    held_.keep({});
    open_.reset();
    pool_.clear();
    group_.agree(error);
}

QueueCounters SlotEngine::counters() const {
    if (queue_)
        return queue_->counters();
    QueueCounters counters;
    counters.published = offered_;
    return counters;
}

} // namespace uzushio::staging::queued
