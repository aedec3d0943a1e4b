#include "staging/queue/queue.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <string>
#include <utility>

namespace uzushio::staging {

/// A limit of more than a year would overflow.
Queue::Clock::time_point Queue::deadline_after(std::chrono::nanoseconds limit) {
    constexpr std::chrono::nanoseconds year = std::chrono::hours(24 * 365);
    return Clock::now() + std::clamp(limit, std::chrono::nanoseconds(0), year);
}

Queue::Queue(const QueueOptions& options) : options_(options) {
    if (options.depth == 0)
        throw std::invalid_argument("A queue needs a depth of at least one step.");
    if (options.bytes == 0)
        throw std::invalid_argument("A queue needs space for more than 0 bytes.");
    if (options.time_limit < std::chrono::nanoseconds(0))
        throw std::invalid_argument("The time limit of a queue cannot be negative.");
}

std::optional<std::uint64_t> Queue::publish(std::shared_ptr<void> payload, std::size_t bytes) {
    if (!reserve(bytes))
        return std::nullopt;
    return commit(std::move(payload), bytes);
}

bool Queue::reserve(std::size_t bytes) {
    Payloads released; // destroyed after the lock
    Lock lock(mutex_);
    if (closed_)
        throw std::logic_error("The queue is closed: no step can be published.");
    if (bytes > options_.bytes)
        throw std::invalid_argument("A step of " + std::to_string(bytes) +
                                    " bytes never fits into a queue of " +
                                    std::to_string(options_.bytes) + " bytes.");
    ++counters_.published;
    if (!make_space(lock, bytes, released)) {
        count_refused();
        return false;
    }
    ++reserved_;
    counters_.bytes += bytes;
    counters_.peak_bytes = std::max(counters_.peak_bytes, counters_.bytes);
    return true;
}

std::uint64_t Queue::commit(std::shared_ptr<void> payload, std::size_t bytes) {
    Payloads released;
    Lock lock(mutex_);
    assert(reserved_ > 0);
    --reserved_;
    for (Entry& entry : entries_)
        if (options_.policy == QueuePolicy::latest_only)
            drop_for_pending(entry);
        else
            drop_for_latest_only(entry);
    Entry entry;
    entry.sequence = next_sequence_++;
    entry.bytes = bytes;
    entry.payload = std::move(payload);
    for (const auto& [id, reader] : readers_)
        if (reader.attached)
            entry.pending.insert(id);
    const std::uint64_t sequence = entry.sequence;
    entries_.push_back(std::move(entry));
    remove_unneeded(retained(), released);
    published_.notify_all();
    changed_.notify_all(); // latest_only may have removed steps
    lock.unlock();
    notify_listener();
    return sequence;
}

void Queue::cancel(std::size_t bytes) {
    const Lock lock(mutex_);
    assert(reserved_ > 0 && counters_.bytes >= bytes);
    --reserved_;
    counters_.bytes -= bytes;
    --counters_.published;
    changed_.notify_all();
}

void Queue::close() {
    {
        const Lock lock(mutex_);
        closed_ = true;
        published_.notify_all();
        changed_.notify_all();
    }
    notify_listener();
}

bool Queue::drain(std::chrono::nanoseconds limit) {
    const auto deadline = deadline_after(limit);
    Lock lock(mutex_);
    const auto needed = [&] {
        return std::any_of(entries_.begin(), entries_.end(),
                           [](const Entry& entry) { return entry.needed(); });
    };
    while (needed())
        if (!wait_for_change(lock, deadline))
            return !needed();
    return true;
}

std::vector<std::uint64_t> Queue::sequences() const {
    const Lock lock(mutex_);
    std::vector<std::uint64_t> numbers;
    numbers.reserve(entries_.size());
    for (const Entry& entry : entries_)
        numbers.push_back(entry.sequence);
    return numbers;
}

std::size_t Queue::max_steps() const {
    const Lock lock(mutex_);
    if (options_.policy == QueuePolicy::latest_only)
        return std::max(options_.depth, attached() + 1);
    return options_.depth + static_cast<std::size_t>(
                                std::count_if(readers_.begin(), readers_.end(), [](auto& entry) {
                                    return entry.second.attached && entry.second.latest_only;
                                }));
}

QueueCounters Queue::counters() const {
    const Lock lock(mutex_);
    QueueCounters now = counters_;
    now.steps = entries_.size() + reserved_;
    return now;
}

QueueReader Queue::attach() {
    const Lock lock(mutex_);
    const std::uint64_t id = next_reader_++;
    readers_[id].last_active = Clock::now();
    // A slow reader may hold an older step: a reader starts at the newest step only.
    if (!entries_.empty() && entries_.back().sequence + 1 == next_sequence_)
        entries_.back().pending.insert(id);
    changed_.notify_all();
    return {shared_from_this(), id};
}

void Queue::reply(std::uint64_t reader, Reply reply) {
    commands_.reply(reader, std::move(reply));
    notify_listener();
}

void Queue::detach(std::uint64_t reader) {
    commands_.remove(reader);
    Payloads released;
    const Lock lock(mutex_);
    const auto reader_entry = readers_.find(reader);
    if (reader_entry == readers_.end())
        return;
    reader_entry->second.attached = false;
    for (Entry& entry : entries_) {
        entry.pending.erase(reader);
        entry.holders.erase(reader);
    }
    remove_unneeded(retained(), released);
    changed_.notify_all();
    published_.notify_all();
}

void Queue::remove_reader(std::uint64_t reader) {
    detach(reader);
    const Lock lock(mutex_);
    readers_.erase(reader);
}

std::size_t Queue::attached() const {
    return static_cast<std::size_t>(
        std::count_if(readers_.begin(), readers_.end(),
                      [](const auto& reader) { return reader.second.attached; }));
}

std::size_t Queue::readers() const {
    const Lock lock(mutex_);
    return attached();
}

bool Queue::wait_for_readers(std::size_t readers, std::chrono::nanoseconds limit) {
    const auto deadline = deadline_after(limit);
    Lock lock(mutex_);
    while (attached() < readers)
        if (!wait_for_change(lock, deadline))
            return attached() >= readers;
    return true;
}

void Queue::on_change(std::function<void()> listener) {
    const Lock lock(listener_mutex_);
    listener_ = std::move(listener);
}

void Queue::notify_listener() const {
    const Lock lock(listener_mutex_);
    if (listener_)
        listener_();
}

Delivery Queue::next(std::uint64_t id, std::chrono::nanoseconds limit) {
    const auto deadline = deadline_after(limit);
    Lock lock(mutex_);
    for (bool in_time = true;;) {
        const auto reader = readers_.find(id);
        if (reader == readers_.end() || !reader->second.attached)
            return {StepStatus::detached, 0, 0, nullptr};
        mark_active(reader->second);
        const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                        [&](const Entry& e) { return e.pending.contains(id); });
        if (entry != entries_.end()) {
            entry->pending.erase(id);
            entry->holders.insert(id);
            ++reader->second.delivered;
            ++counters_.delivered;
            return {StepStatus::step, entry->sequence, entry->bytes, entry->payload};
        }
        if (closed_)
            return {StepStatus::ended, 0, 0, nullptr};
        if (!in_time)
            return {StepStatus::timeout, 0, 0, nullptr};
        in_time = published_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    }
}

void Queue::set_latest_only(std::uint64_t id, bool latest_only) {
    const Lock lock(mutex_);
    const auto reader = readers_.find(id);
    if (reader == readers_.end() || reader->second.latest_only == latest_only)
        return;
    reader->second.latest_only = latest_only;
    if (latest_only && !entries_.empty())
        for (auto entry = entries_.begin(); entry != std::prev(entries_.end()); ++entry)
            drop_for_latest_only(*entry);
    changed_.notify_all();
}

bool Queue::release(std::uint64_t id, std::uint64_t sequence) {
    Payloads released;
    const Lock lock(mutex_);
    const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
        return e.sequence == sequence && e.holders.contains(id);
    });
    if (entry == entries_.end())
        return false;
    mark_active(readers_.at(id));
    entry->holders.erase(id);
    remove_unneeded(retained(), released);
    changed_.notify_all();
    return true;
}

void Queue::mark_active(ReaderState& reader) {
    reader.last_active = Clock::now();
    reader.stalled = false;
}

Queue::ReaderState Queue::state_of(std::uint64_t reader) const {
    const Lock lock(mutex_);
    const auto reader_entry = readers_.find(reader);
    return reader_entry == readers_.end() ? ReaderState{} : reader_entry->second;
}

} // namespace uzushio::staging
