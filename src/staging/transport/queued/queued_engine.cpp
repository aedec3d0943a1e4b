#include "staging/transport/queued/queued_engine.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "parallel/wait_hook.hpp"
#include "staging/exception_of.hpp"
#include "staging/interrupt.hpp"
#include "staging/notice.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/to_seconds.hpp"
#include "staging/wire/checksum.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::queued {
namespace {

/// Grace period after a stop request: for readers to take the last steps, and for rank 0 to end a
/// wait of all ranks in order.
constexpr auto stop_grace = std::chrono::seconds(2);

/// Segment of a rank without values in a step.
class NoSegment final : public Segment {
  public:
    std::span<std::byte> bytes() override { return {}; }
};

Endpoints gather(const parallel::CollectiveGroup& group, const Endpoint& own) {
    Endpoints all;
    for (const auto& bytes : group.gather(encode(Message(Endpoints{{own}}))))
        all.ranks.push_back(decode_as<Endpoints>(bytes).ranks.at(0));
    return all;
}

} // namespace

/// Reserved space in rank 0's queue, cancelled in the destructor unless a step was committed.
class QueuedEngine::QueueReservation {
  public:
    explicit QueueReservation(Queue* queue) : queue_(queue) {}
    QueueReservation(const QueueReservation&) = delete;
    QueueReservation& operator=(const QueueReservation&) = delete;
    ~QueueReservation() {
        if (reserved_)
            queue_->cancel(bytes_);
    }

    bool reserve(std::size_t bytes) {
        bytes_ = bytes;
        return reserved_ = queue_->reserve(bytes);
    }
    std::uint64_t commit(std::shared_ptr<EncodedAnnounce> announcement) {
        const std::uint64_t sequence = queue_->commit(std::move(announcement), bytes_);
        reserved_ = false;
        return sequence;
    }

  private:
    Queue* queue_;
    std::size_t bytes_ = 0;
    bool reserved_ = false;
};

QueuedEngine::QueuedEngine(const parallel::CollectiveGroup& group, const EngineOptions& options,
                           MakeSegment make_segment, const MakeService& make_service)
    : group_(stream_group(group.comm(), "this writer")), options_(options),
      pool_(std::move(make_segment), options.queue.depth + 1) {
    group_.run_collectively([&] {
        if (group_.rank() == 0)
            queue_ = std::make_shared<Queue>(options_.queue);
        service_ = make_service(held_, queue_.get());
    });
    const Endpoints endpoints = gather(group_, service_->endpoint());
    group_.run_on_root([&] { service_->open(endpoints); });
    parts_.resize(group_.rank() == 0 ? static_cast<std::size_t>(group_.size()) : 0);
}

QueuedEngine::~QueuedEngine() = default;

// ---- publishing -------------------------------------------------------------------------------

std::span<std::byte> QueuedEngine::buffer(std::size_t bytes) {
    if (closed_)
        return {};
    if (allocated_ == 0 && last_bytes_ > 0 &&
        (!next_segment_ || next_segment_->bytes().size() < last_bytes_)) {
        next_segment_.reset();
        try {
            next_segment_ = pool_.acquire(last_bytes_);
        } catch (const StagingError&) {
            return {}; // `publish` will fail for lack of memory, on all ranks
        }
    }
    const std::size_t at = aligned(allocated_);
    allocated_ = at + bytes;
    if (!next_segment_ || allocated_ > next_segment_->bytes().size())
        return {};
    return next_segment_->bytes().subspan(at, bytes);
}

std::optional<std::uint64_t> QueuedEngine::publish(LocalStep step) {
    require(!closed_, "The stream is closed: nothing can be published any more.");
    QueueReservation reservation(queue_.get());
    SegmentLayout layout;
    StepOffer mine;
    std::exception_ptr error = exception_of([&] { mine = make_offer(std::move(step), layout); });
    mine.failed = error != nullptr;

    const auto offers = group_.gather(encode_parts(mine));
    AdmissionDecision admission;
    if (group_.rank() == 0)
        admission = decide(offers, error, reservation);
    admission = broadcast_decision(admission);
    last_bytes_ = std::max(std::exchange(allocated_, 0), layout.bytes);
    if (admission.failed)
        fail(error);
    if (admission.new_table) {
        if (mine.part)
            part_ = std::make_shared<const StepInfo>(std::move(*mine.part));
        first_block_ = static_cast<std::uint32_t>(group_.sum_before(part_->blocks.size()));
    }
    ++offered_;
    // One more than the queue holds: the segment of `buffer`.
    pool_.set_max_segments(admission.max_steps + 1);
    held_.keep(admission.kept);
    if (!admission.accepted)
        return std::nullopt;

    StoreResult result;
    error = exception_of([&] { result = store(layout); });
    result.failed = error != nullptr;
    const auto results = group_.gather(encode_parts(result));
    const bool published = group_.rank() == 0 && commit(results, error, reservation);
    if (group_.broadcast({std::byte{published}}).front() == std::byte{false}) {
        --offered_;
        held_.keep(admission.kept);
        fail(error);
    }
    return sequence_++;
}

/// Broadcast rank 0's decision, which may take as long as rank 0 waits for readers. A stop request
/// mostly reaches all ranks, and rank 0 ends the wait for all; a rank that is stopped alone leaves
/// the wait.
AdmissionDecision QueuedEngine::broadcast_decision(const AdmissionDecision& decision) {
    if (group_.rank() == 0)
        return decode_parts<AdmissionDecision>(group_.broadcast(encode_parts(decision)));
    const parallel::WaitHook stopping = stop_hook(stop_grace);
    return decode_parts<AdmissionDecision>(group_.broadcast({}));
}

/// Throw on all ranks. Every rank sends its table to rank 0 again with the next step.
void QueuedEngine::fail(const std::exception_ptr& error) {
    part_.reset();
    group_.agree(error);
    throw StagingError("The step could not be published; no rank reported a cause.");
}

StepOffer QueuedEngine::make_offer(LocalStep step, SegmentLayout& layout) {
    StepOffer offer;
    offer.head.index = step.part.index;
    offer.head.time = step.part.time;
    offer.head.attributes = step.part.attributes;
    validate(offer.head);
    layout = lay_out(std::move(step), static_cast<std::uint32_t>(group_.rank()),
                     next_segment_ ? std::span<const std::byte>(next_segment_->bytes())
                                   : std::span<const std::byte>());
    offer.bytes = layout.bytes;
    if (!part_ || *part_ != layout.part) {
        validate(layout.part);
        offer.part = layout.part;
    }
    return offer;
}

AdmissionDecision QueuedEngine::decide(const std::vector<std::vector<std::byte>>& offers,
                                       std::exception_ptr& error, QueueReservation& reservation) {
    AdmissionDecision decision;
    const std::exception_ptr own = exception_of([&] {
        const parallel::WaitHook watching = group_.watch_abort();
        std::vector<StepInfo> heads;
        std::uint64_t max_bytes = 0;
        for (std::size_t rank = 0; rank < offers.size(); ++rank) {
            StepOffer offer = decode_parts<StepOffer>(offers[rank]);
            decision.failed = decision.failed || offer.failed;
            max_bytes = std::max(max_bytes, offer.bytes);
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
        const parallel::WaitHook stopping = stop_hook();
        wait_for_first_readers();
        decision.accepted = reserve(reservation, max_bytes);
        decision.max_steps = queue_->max_steps();
        decision.kept = queue_->sequences();
    });
    if (own) {
        decision = AdmissionDecision();
        decision.failed = true;
        error = error ? error : own;
    }
    return decision;
}

void QueuedEngine::wait_for_first_readers() {
    if (readers_waited_for_)
        return;
    const std::size_t wanted = options_.wait_for_readers;
    const auto readers_so_far = [&] {
        return "The first step waits for " + std::to_string(wanted) +
               (wanted == 1 ? " reader" : " readers") + " (wait_for_readers), and " +
               std::to_string(queue_->readers()) + " attached";
    };
    WaitNotice waiting;
    const parallel::WaitHook notifying([&] {
        if (waiting.due())
            notice(sentence(readers_so_far(), " so far; it waits for up to ",
                            to_seconds(options_.wait_limit), ".",
                            (options_.contact.empty()
                                 ? ""
                                 : " Readers attach to " + options_.contact.string() + ".")));
    });
    if (wanted > 0 && !queue_->wait_for_readers(wanted, options_.wait_limit))
        throw PeerGone(readers_so_far() + " within " + to_seconds(options_.wait_limit) +
                       ": start them, raise wait_limit or lower wait_for_readers.");
    readers_waited_for_ = true;
}

/// Reserve space in the queue, as its policy says. The first long wait causes a notice.
bool QueuedEngine::reserve(QueueReservation& reservation, std::size_t bytes) {
    WaitNotice waiting;
    const parallel::WaitHook notifying([&] {
        if (!wait_notified_ && waiting.due()) {
            wait_notified_ = true;
            notice("The solver waits for readers to release a step (queue.policy: block), for up "
                   "to " +
                   to_seconds(options_.queue.time_limit) + "; later waits are counted only.");
        }
    });
    return reservation.reserve(bytes);
}

/// Copy the values into a segment, and make it available to the service.
StoreResult QueuedEngine::store(const SegmentLayout& layout) {
    auto held = std::make_shared<HeldStep>();
    held->sequence = sequence_;
    held->part = part_;
    held->first_block = first_block_;
    if (layout.bytes == 0) {
        held->segment = std::make_shared<NoSegment>();
    } else {
        held->segment = next_segment_ && next_segment_->bytes().size() >= layout.bytes
                            ? next_segment_
                            : pool_.acquire(layout.bytes);
        copied_ += fill(layout, held->segment->bytes());
        next_segment_.reset();
    }
    StoreResult result;
    result.place = held->segment->place();
    if (options_.checksums)
        for (const Block& block : part_->blocks)
            for (const StoredArray& array : block.arrays)
                result.checksums.push_back(
                    checksum(view_of(*part_, block, array, held->segment->bytes())));
    held_.put(std::move(held));
    return result;
}

/// Return whether the step was published.
bool QueuedEngine::commit(const std::vector<std::vector<std::byte>>& results,
                          std::exception_ptr& error, QueueReservation& reservation) {
    bool published = false;
    const std::exception_ptr own = exception_of([&] {
        bool failed = false;
        std::vector<SegmentPlace> places;
        std::vector<std::uint32_t> checksums;
        for (const auto& bytes : results) {
            const auto result = decode_parts<StoreResult>(bytes);
            failed = failed || result.failed;
            places.push_back(result.place);
            checksums.insert(checksums.end(), result.checksums.begin(), result.checksums.end());
        }
        if (failed)
            return;
        if (std::all_of(places.begin(), places.end(),
                        [](const SegmentPlace& place) { return place == SegmentPlace{}; }))
            places.clear();
        if (options_.checksums)
            announcer_.set_checksums(checksums);
        [[maybe_unused]] const std::uint64_t sequence =
            reservation.commit(announcer_.announce(sequence_, places, head_));
        assert(sequence == sequence_ && "only rank 0 of this engine commits");
        published = true;
    });
    error = error ? error : own;
    return published;
}

// ---- the end ----------------------------------------------------------------------------------

void QueuedEngine::abandon() {
    closed_ = true;
    service_.reset();
}

void QueuedEngine::close() {
    if (std::exchange(closed_, true))
        return;
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    std::exception_ptr error;
    if (group_.rank() == 0) {
        queue_->close();
        error = exception_of([&] {
            const parallel::WaitHook watching = group_.watch_abort();
            const parallel::WaitHook stopping = stop_hook(stop_grace);
            WaitNotice waiting;
            const parallel::WaitHook notifying([&] {
                if (waiting.due())
                    notice("The stream's end waits for readers to take the last steps, for up to " +
                           to_seconds(options_.close_limit) + " (close_limit).");
            });
            (void)queue_->drain(options_.close_limit);
        });
    }
    {
        const parallel::WaitHook stopping = stop_hook(2 * stop_grace);
        group_.barrier(); // until then readers may request pieces from any rank
    }
    const auto left = error ? Clock::duration(0) : options_.close_limit - (Clock::now() - start);
    const std::exception_ptr unclosed = exception_of([&] {
        service_->close(std::max<std::chrono::nanoseconds>(left, std::chrono::seconds(1)));
    });
    held_.keep({});
    next_segment_.reset();
    pool_.clear();
    group_.agree(unclosed ? unclosed : error);
}

QueueCounters QueuedEngine::counters() const {
    if (queue_)
        return queue_->counters();
    QueueCounters counters;
    counters.published = offered_;
    return counters;
}

std::vector<ReceivedCommand> QueuedEngine::take_commands() {
    return queue_ ? queue_->take_commands() : std::vector<ReceivedCommand>();
}

void QueuedEngine::reply(std::uint64_t reader, Reply reply) {
    if (queue_)
        queue_->reply(reader, std::move(reply));
}

} // namespace uzushio::staging::queued
