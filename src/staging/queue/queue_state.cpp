#include "staging/queue/queue_state.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <string>
#include <utility>

#include "parallel/wait_hook.hpp"
#include "staging/in_seconds.hpp"
#include "staging/queue/queue_timeout.hpp"

namespace uzushio::staging {
namespace {

using Clock = std::chrono::steady_clock;

/// A year is as good as for ever, and does not overflow.
Clock::time_point after(std::chrono::nanoseconds limit) {
    constexpr std::chrono::nanoseconds year = std::chrono::hours(24 * 365);
    return Clock::now() + std::clamp(limit, std::chrono::nanoseconds(0), year);
}

} // namespace

QueueState::QueueState(const QueueOptions& options) : options_(options) {
    if (options.depth == 0)
        throw std::invalid_argument("A queue needs a depth of at least one step.");
    if (options.bytes == 0)
        throw std::invalid_argument("A queue needs room for more than 0 bytes.");
    if (options.time_limit < std::chrono::nanoseconds(0))
        throw std::invalid_argument("The time limit of a queue cannot be negative.");
}

// ---- the solver's side ------------------------------------------------------------------------

bool QueueState::reserve(std::size_t bytes) {
    Garbage garbage; // outlives the lock
    Lock lock(mutex_);
    if (closed_)
        throw std::logic_error("The queue is closed: nothing can be published any more.");
    if (bytes > options_.bytes)
        throw std::invalid_argument("A step of " + std::to_string(bytes) +
                                    " bytes never fits into a queue of " +
                                    std::to_string(options_.bytes) + " bytes.");
    ++counters_.published;
    if (!make_room(lock, bytes, garbage)) {
        refuse();
        return false;
    }
    ++reserved_;
    counters_.bytes += bytes;
    counters_.peak_bytes = std::max(counters_.peak_bytes, counters_.bytes);
    return true;
}

std::uint64_t QueueState::commit(std::shared_ptr<void> payload, std::size_t bytes) {
    Garbage garbage;
    const Lock lock(mutex_);
    assert(reserved_ > 0);
    --reserved_;
    if (options_.policy == QueuePolicy::latest_only)
        for (Entry& entry : entries_)
            miss(entry);
    Entry entry;
    entry.sequence = next_sequence_++;
    entry.bytes = bytes;
    entry.payload = std::move(payload);
    for (const auto& [id, reader] : readers_)
        if (reader.attached)
            entry.due.insert(id);
    entries_.push_back(std::move(entry));
    sweep(options_.keep_newest ? Sparing::newest : Sparing::none, garbage);
    news_.notify_all();
    room_.notify_all(); // what latest_only gave up
    return next_sequence_ - 1;
}

void QueueState::cancel(std::size_t bytes) {
    const Lock lock(mutex_);
    assert(reserved_ > 0 && counters_.bytes >= bytes);
    --reserved_;
    counters_.bytes -= bytes;
    --counters_.published;
    room_.notify_all();
}

void QueueState::close() {
    const Lock lock(mutex_);
    closed_ = true;
    news_.notify_all();
    room_.notify_all();
}

bool QueueState::drain(std::chrono::nanoseconds limit) {
    const auto deadline = after(limit);
    Lock lock(mutex_);
    const auto wanted = [&] {
        return std::any_of(entries_.begin(), entries_.end(),
                           [](const Entry& entry) { return entry.wanted(); });
    };
    while (wanted())
        if (!wait_for_change(lock, deadline))
            return !wanted();
    return true;
}

std::vector<std::uint64_t> QueueState::sequences() const {
    const Lock lock(mutex_);
    std::vector<std::uint64_t> numbers;
    numbers.reserve(entries_.size());
    for (const Entry& entry : entries_)
        numbers.push_back(entry.sequence);
    return numbers;
}

std::size_t QueueState::most_steps() const {
    const Lock lock(mutex_);
    return options_.policy == QueuePolicy::latest_only ? std::max(options_.depth, attached() + 1)
                                                       : options_.depth;
}

QueueCounters QueueState::counters() const {
    const Lock lock(mutex_);
    QueueCounters now = counters_;
    now.steps = entries_.size() + reserved_;
    return now;
}

// ---- room for a step --------------------------------------------------------------------------

/// Steps that may be there now. Readers that hold different ones must not keep the newest out.
std::size_t QueueState::depth() const {
    if (options_.policy != QueuePolicy::latest_only)
        return options_.depth;
    std::set<std::uint64_t> holding;
    for (const Entry& entry : entries_)
        holding.insert(entry.held.begin(), entry.held.end());
    return std::max(options_.depth, holding.size() + 1);
}

bool QueueState::fits(std::size_t bytes) const {
    return entries_.size() + reserved_ < depth() && bytes <= options_.bytes - counters_.bytes;
}

bool QueueState::make_room(Lock& lock, std::size_t bytes, Garbage& garbage) {
    if (fits(bytes))
        return true;
    sweep(Sparing::none, garbage);
    switch (options_.policy) {
    case QueuePolicy::block:
        return wait_for_room(lock, bytes, garbage);
    case QueuePolicy::drop_newest:
        mark_stalled(Clock::now() - options_.time_limit);
        while (!fits(bytes))
            if (!give_up_oldest(Whose::stalled, garbage))
                return false;
        return true;
    case QueuePolicy::drop_oldest:
    case QueuePolicy::latest_only:
        while (!fits(bytes))
            if (!give_up_oldest(Whose::anyone, garbage))
                return false;
        return true;
    }
    return false;
}

bool QueueState::wait_for_change(Lock& lock, Clock::time_point deadline) {
    (void)room_.wait_until(lock, std::min(deadline, Clock::now() + parallel::wait_hook_interval));
    lock.unlock(); // who is asked may use the queue
    parallel::run_wait_hooks();
    lock.lock();
    return Clock::now() < deadline;
}

bool QueueState::wait_for_room(Lock& lock, std::size_t bytes, Garbage& garbage) {
    const auto room = [&] {
        sweep(Sparing::none, garbage);
        while (!fits(bytes))
            if (!give_up_oldest(Whose::stalled, garbage))
                return false;
        return true;
    };
    if (room())
        return true;
    const auto start = Clock::now();
    const auto deadline = after(options_.time_limit);
    bool in_time = true;
    while (!room() && in_time && !closed_ && waiting_may_help(bytes))
        in_time = wait_for_change(lock, deadline);
    counters_.seconds_waited += std::chrono::duration<double>(Clock::now() - start).count();
    if (room())
        return true;
    if (!in_time) {
        mark_stalled(start);
        if (options_.on_timeout == OnTimeout::fail) {
            refuse();
            throw QueueTimeout("No reader released a step within " +
                               in_seconds(options_.time_limit) +
                               ", and the queue is to fail then.");
        }
    }
    return room(); // for readers that move, what only others wait for is given up
}

/// Whether there is room once all readers that move have let go of everything.
bool QueueState::waiting_may_help(std::size_t bytes) const {
    if (options_.on_timeout == OnTimeout::fail)
        return true;
    const auto by_stalled = [&](const std::set<std::uint64_t>& readers) {
        return std::any_of(readers.begin(), readers.end(),
                           [&](std::uint64_t reader) { return is_stalled(reader); });
    };
    const bool waiting_stays = !anyone_moves();
    std::size_t steps = reserved_;
    std::size_t kept = 0;
    for (const Entry& entry : entries_)
        if (by_stalled(entry.held) || (waiting_stays && by_stalled(entry.due))) {
            ++steps;
            kept += entry.bytes;
        }
    return steps < options_.depth && bytes <= options_.bytes - kept;
}

/// Whether a reader is attached that has not stalled.
bool QueueState::anyone_moves() const {
    return std::any_of(readers_.begin(), readers_.end(), [](const auto& reader) {
        return reader.second.attached && !reader.second.stalled;
    });
}

void QueueState::mark_stalled(Clock::time_point since) {
    for (const Entry& entry : entries_)
        for (const auto* owing : {&entry.due, &entry.held})
            for (const std::uint64_t id : *owing) {
                Reader& reader = readers_.at(id);
                reader.stalled = reader.stalled || reader.moved < since;
            }
}

bool QueueState::is_stalled(std::uint64_t reader) const { return readers_.at(reader).stalled; }

/// Let go of what no reader wants.
void QueueState::sweep(Sparing sparing, Garbage& garbage) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const bool spared = sparing == Sparing::newest && std::next(entry) == entries_.end();
        entry = entry->wanted() || spared ? std::next(entry) : remove(entry, garbage);
    }
}

/// Drop the oldest step that nobody holds; of `stalled` ones, that nobody else waits for. What
/// those wait for is given up for the sake of readers that move alone: without any, the new step is
/// the one to refuse.
bool QueueState::give_up_oldest(Whose whose, Garbage& garbage) {
    if (whose == Whose::stalled && !anyone_moves())
        return false;
    const auto oldest = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.held.empty() &&
               (whose == Whose::anyone ||
                std::all_of(entry.due.begin(), entry.due.end(),
                            [&](std::uint64_t reader) { return is_stalled(reader); }));
    });
    if (oldest == entries_.end())
        return false;
    miss(*oldest);
    remove(oldest, garbage);
    return true;
}

void QueueState::miss(Entry& entry) {
    if (entry.due.empty())
        return;
    for (const std::uint64_t reader : entry.due)
        ++readers_.at(reader).missed;
    entry.due.clear();
    counters_.dropped += entry.dropped ? 0 : 1;
    entry.dropped = true;
}

void QueueState::refuse() {
    bool anyone = false;
    for (auto& [id, reader] : readers_)
        if (reader.attached) {
            ++reader.missed;
            anyone = true;
        }
    counters_.dropped += anyone ? 1 : 0;
}

std::deque<QueueState::Entry>::iterator QueueState::remove(std::deque<Entry>::iterator entry,
                                                           Garbage& garbage) {
    counters_.bytes -= entry->bytes;
    garbage.push_back(std::move(entry->payload));
    return entries_.erase(entry);
}

// ---- the readers' side ------------------------------------------------------------------------

std::uint64_t QueueState::attach() {
    const Lock lock(mutex_);
    const std::uint64_t id = next_reader_++;
    readers_[id].moved = Clock::now();
    // An older one may still be in slow hands: only the newest of all is worth a start.
    if (!entries_.empty() && entries_.back().sequence + 1 == next_sequence_)
        entries_.back().due.insert(id);
    room_.notify_all();
    return id;
}

void QueueState::detach(std::uint64_t reader) {
    Garbage garbage;
    const Lock lock(mutex_);
    const auto found = readers_.find(reader);
    if (found == readers_.end())
        return;
    found->second.attached = false;
    for (Entry& entry : entries_) {
        entry.due.erase(reader);
        entry.held.erase(reader);
    }
    sweep(options_.keep_newest ? Sparing::newest : Sparing::none, garbage);
    room_.notify_all();
    news_.notify_all();
}

void QueueState::forget(std::uint64_t reader) {
    detach(reader);
    const Lock lock(mutex_);
    readers_.erase(reader);
}

std::size_t QueueState::attached() const {
    return static_cast<std::size_t>(
        std::count_if(readers_.begin(), readers_.end(),
                      [](const auto& reader) { return reader.second.attached; }));
}

std::size_t QueueState::readers() const {
    const Lock lock(mutex_);
    return attached();
}

bool QueueState::wait_for_readers(std::size_t readers, std::chrono::nanoseconds limit) {
    const auto deadline = after(limit);
    Lock lock(mutex_);
    while (attached() < readers)
        if (!wait_for_change(lock, deadline))
            return attached() >= readers;
    return true;
}

void QueueState::on_news(std::function<void()> tell) {
    const Lock lock(telling_);
    tell_ = std::move(tell);
}

void QueueState::tell() const {
    const Lock lock(telling_);
    if (tell_)
        tell_();
}

Delivery QueueState::next(std::uint64_t id, std::chrono::nanoseconds limit) {
    const auto deadline = after(limit);
    Lock lock(mutex_);
    for (bool in_time = true;;) {
        const auto reader = readers_.find(id);
        if (reader == readers_.end() || !reader->second.attached)
            return {Arrival::detached, 0, 0, nullptr};
        touch(reader->second);
        const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                        [&](const Entry& e) { return e.due.contains(id); });
        if (entry != entries_.end()) {
            entry->due.erase(id);
            entry->held.insert(id);
            ++reader->second.delivered;
            ++counters_.delivered;
            return {Arrival::step, entry->sequence, entry->bytes, entry->payload};
        }
        if (closed_)
            return {Arrival::ended, 0, 0, nullptr};
        if (!in_time)
            return {Arrival::timeout, 0, 0, nullptr};
        in_time = news_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    }
}

bool QueueState::release(std::uint64_t id, std::uint64_t sequence) {
    Garbage garbage;
    const Lock lock(mutex_);
    const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
        return e.sequence == sequence && e.held.contains(id);
    });
    if (entry == entries_.end())
        return false;
    touch(readers_.at(id));
    entry->held.erase(id);
    sweep(options_.keep_newest ? Sparing::newest : Sparing::none, garbage);
    room_.notify_all();
    return true;
}

void QueueState::touch(Reader& reader) {
    reader.moved = Clock::now();
    reader.stalled = false;
}

const QueueState::Reader& QueueState::known(std::uint64_t reader) const {
    static const Reader none{};
    const auto found = readers_.find(reader);
    return found == readers_.end() ? none : found->second;
}

std::uint64_t QueueState::delivered(std::uint64_t reader) const {
    const Lock lock(mutex_);
    return known(reader).delivered;
}

std::uint64_t QueueState::missed(std::uint64_t reader) const {
    const Lock lock(mutex_);
    return known(reader).missed;
}

bool QueueState::stalled(std::uint64_t reader) const {
    const Lock lock(mutex_);
    return known(reader).stalled;
}

} // namespace uzushio::staging
