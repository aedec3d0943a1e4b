// Space for a new step: steps that the policies drop, and waits of `block`.
#include <algorithm>
#include <iterator>
#include <utility>

#include "parallel/wait_hook.hpp"
#include "staging/queue/queue.hpp"
#include "staging/to_seconds.hpp"

namespace uzushio::staging {

/// Return the number of steps that count in the depth: not those that only readers with
/// `latest_only` hold, whose number is that of these readers at most.
std::size_t Queue::steps() const {
    std::size_t counted = entries_.size() + reserved_;
    if (options_.policy != QueuePolicy::latest_only)
        for (const Entry& entry : entries_)
            counted -= held_by_latest_only(entry) ? 1 : 0;
    return counted;
}

bool Queue::is_latest_only(std::uint64_t reader) const { return readers_.at(reader).latest_only; }

bool Queue::held_by_latest_only(const Entry& entry) const {
    const auto latest_only = [&](std::uint64_t reader) { return is_latest_only(reader); };
    return !entry.holders.empty() &&
           std::all_of(entry.holders.begin(), entry.holders.end(), latest_only) &&
           std::all_of(entry.pending.begin(), entry.pending.end(), latest_only);
}

/// Return the current depth. Readers that hold different steps must not exclude the newest one.
std::size_t Queue::depth() const {
    if (options_.policy != QueuePolicy::latest_only)
        return options_.depth;
    std::set<std::uint64_t> holders;
    for (const Entry& entry : entries_)
        holders.insert(entry.holders.begin(), entry.holders.end());
    return std::max(options_.depth, holders.size() + 1);
}

bool Queue::fits(std::size_t bytes) const {
    return steps() < depth() && bytes <= options_.bytes - counters_.bytes;
}

bool Queue::make_space(Lock& lock, std::size_t bytes, Payloads& released) {
    if (fits(bytes))
        return true;
    remove_unneeded(Retain::none, released);
    switch (options_.policy) {
    case QueuePolicy::block:
        return wait_for_space(lock, bytes, released);
    case QueuePolicy::drop_newest:
        mark_stalled(Clock::now() - options_.time_limit);
        return make_space_from_unwaited(bytes, released);
    case QueuePolicy::drop_oldest:
    case QueuePolicy::latest_only:
        while (!fits(bytes))
            if (!drop_oldest(Droppable::any, released))
                return false;
        return true;
    }
    return false;
}

/// Make space by dropping steps that are only for readers that no policy waits for.
bool Queue::make_space_from_unwaited(std::size_t bytes, Payloads& released) {
    while (!fits(bytes))
        if (!drop_oldest(Droppable::unwaited, released))
            return false;
    return true;
}

bool Queue::wait_for_change(Lock& lock, Clock::time_point deadline) {
    (void)changed_.wait_until(lock,
                              std::min(deadline, Clock::now() + parallel::wait_hook_interval));
    lock.unlock(); // wait hooks may call the queue
    parallel::run_wait_hooks();
    lock.lock();
    return Clock::now() < deadline;
}

bool Queue::wait_for_space(Lock& lock, std::size_t bytes, Payloads& released) {
    const auto space = [&] {
        remove_unneeded(Retain::none, released);
        return make_space_from_unwaited(bytes, released);
    };
    if (space())
        return true;
    const auto start = Clock::now();
    const auto deadline = deadline_after(options_.time_limit);
    bool in_time = true;
    while (!space() && in_time && !closed_ && waiting_may_help(bytes))
        in_time = wait_for_change(lock, deadline);
    counters_.seconds_waited += std::chrono::duration<double>(Clock::now() - start).count();
    if (space())
        return true;
    if (!in_time) {
        mark_stalled(start);
        if (options_.on_timeout == OnTimeout::fail) {
            count_refused();
            throw QueueTimeout("No reader released a step within " +
                               to_seconds(options_.time_limit) + " (queue.on_timeout: fail).");
        }
    }
    return space(); // for active readers, steps of stalled readers are dropped
}

/// Return whether the step would fit after all active readers have released their steps.
bool Queue::waiting_may_help(std::size_t bytes) const {
    if (options_.on_timeout == OnTimeout::fail)
        return true;
    const auto by_stalled = [&](const std::set<std::uint64_t>& readers) {
        return std::any_of(readers.begin(), readers.end(),
                           [&](std::uint64_t reader) { return is_stalled(reader); });
    };
    const bool pending_stays = !has_active_reader();
    std::size_t steps = reserved_;
    std::size_t kept = 0;
    for (const Entry& entry : entries_)
        if (by_stalled(entry.holders) || (pending_stays && by_stalled(entry.pending))) {
            steps += held_by_latest_only(entry) ? 0 : 1;
            kept += entry.bytes;
        }
    return steps < options_.depth && bytes <= options_.bytes - kept;
}

/// Return whether an attached reader has not stalled.
bool Queue::has_active_reader() const {
    return std::any_of(readers_.begin(), readers_.end(), [](const auto& reader) {
        return reader.second.attached && !reader.second.stalled;
    });
}

void Queue::mark_stalled(Clock::time_point since) {
    for (const Entry& entry : entries_)
        for (const auto* readers : {&entry.pending, &entry.holders})
            for (const std::uint64_t id : *readers) {
                ReaderState& reader = readers_.at(id);
                reader.stalled = reader.stalled || reader.last_active < since;
            }
}

bool Queue::is_stalled(std::uint64_t reader) const { return readers_.at(reader).stalled; }

/// Remove the steps that no reader needs.
void Queue::remove_unneeded(Retain retain, Payloads& released) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const bool kept = retain == Retain::newest && std::next(entry) == entries_.end();
        entry = entry->needed() || kept ? std::next(entry) : remove(entry, released);
    }
}

/// Return whether a step may be dropped for a new one: no reader holds it, and with `unwaited` only
/// readers with `latest_only` need it, or stalled ones if there are active readers. Without active
/// readers the new step is refused instead.
bool Queue::can_drop(const Entry& entry, Droppable droppable) const {
    if (!entry.holders.empty())
        return false;
    const bool stalled_too = has_active_reader();
    return droppable == Droppable::any ||
           std::all_of(entry.pending.begin(), entry.pending.end(), [&](std::uint64_t reader) {
               return is_latest_only(reader) || (stalled_too && is_stalled(reader));
           });
}

bool Queue::drop_oldest(Droppable droppable, Payloads& released) {
    const auto oldest = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return can_drop(entry, droppable);
    });
    if (oldest == entries_.end())
        return false;
    drop_for_pending(*oldest);
    remove(oldest, released);
    return true;
}

void Queue::drop_for_pending(Entry& entry) {
    for (const std::uint64_t reader : entry.pending)
        count_dropped(entry, reader);
    entry.pending.clear();
}

void Queue::drop_for_latest_only(Entry& entry) {
    std::erase_if(entry.pending, [&](std::uint64_t reader) {
        if (!is_latest_only(reader))
            return false;
        count_dropped(entry, reader);
        return true;
    });
}

void Queue::count_dropped(Entry& entry, std::uint64_t reader) {
    ++readers_.at(reader).missed;
    counters_.dropped += entry.dropped ? 0 : 1;
    entry.dropped = true;
}

void Queue::count_refused() {
    bool missed = false;
    for (auto& [id, reader] : readers_)
        if (reader.attached) {
            ++reader.missed;
            missed = true;
        }
    counters_.dropped += missed ? 1 : 0;
}

std::deque<Queue::Entry>::iterator Queue::remove(std::deque<Entry>::iterator entry,
                                                 Payloads& released) {
    counters_.bytes -= entry->bytes;
    released.push_back(std::move(entry->payload));
    return entries_.erase(entry);
}

} // namespace uzushio::staging
