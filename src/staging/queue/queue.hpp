#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "staging/queue/command_mailbox.hpp"
#include "staging/queue/delivery.hpp"
#include "staging/queue/queue_counters.hpp"
#include "staging/queue/queue_options.hpp"
#include "staging/queue/queue_reader.hpp"
#include "staging/queue/queue_timeout.hpp"

namespace uzushio::staging {

/// Bounded queue of published steps for any number of readers, each at its own speed.
///
/// A step stays until the last reader for which it was published has released it. A reader gets the
/// steps in order, and starts at the newest step. A step that a reader holds is never removed. All
/// waits sleep, and end at a deadline. All members are thread-safe.
///
/// A queue must be owned by a std::shared_ptr: its readers share the ownership.
class Queue : public std::enable_shared_from_this<Queue> {
  public:
    /// Throws std::invalid_argument if the options allow no step or a negative time.
    explicit Queue(const QueueOptions& options);
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    /// Offer a step of `bytes` bytes: `reserve` and `commit` in one. Returns the step's sequence
    /// number if the queue accepted it. The policy decides what happens to it then.
    std::optional<std::uint64_t> publish(std::shared_ptr<void> payload, std::size_t bytes);

    /// Reserve space for a step before it is written, by the policy: a step that is dropped here
    /// costs no copy. Returns whether there is space; it is reserved until `commit` or `cancel`.
    /// Throws std::invalid_argument if the step alone exceeds the limit of bytes, std::logic_error
    /// if the queue is closed, and QueueTimeout if so configured.
    [[nodiscard]] bool reserve(std::size_t bytes);
    /// Publish a step in the reserved space. Returns its sequence number.
    std::uint64_t commit(std::shared_ptr<void> payload, std::size_t bytes);
    /// Release reserved space: the step is not published.
    void cancel(std::size_t bytes);

    /// End the queue: readers get the remaining steps, then `ended`. Ends a wait in `reserve`.
    void close();

    /// Wait up to `limit` until readers have released all steps that were published for them.
    /// Returns whether they have.
    bool drain(std::chrono::nanoseconds limit);

    /// Wait up to `limit` until `readers` are attached. Returns whether they are.
    bool wait_for_readers(std::size_t readers, std::chrono::nanoseconds limit);

    /// Set a function that is called after a step was published, after `reply`, and after `close`,
    /// on the thread that did it: for services that do not wait in QueueReader::next. Empty: none;
    /// no call is in progress when this returns.
    void on_change(std::function<void()> listener);

    /// Sequence numbers of the steps in the queue. Other steps are never available again.
    [[nodiscard]] std::vector<std::uint64_t> sequences() const;

    /// Maximum number of steps while no reader attaches or detaches: the depth, and one for each
    /// reader that is latest_only; with the policy `latest_only` one more than readers if that is
    /// larger than the depth.
    [[nodiscard]] std::size_t max_steps() const;

    [[nodiscard]] QueueReader attach();
    [[nodiscard]] std::size_t readers() const;

    [[nodiscard]] std::vector<ReceivedCommand> take_commands() { return commands_.take(); }
    void reply(std::uint64_t reader, Reply reply);

    [[nodiscard]] QueueCounters counters() const;

  private:
    friend class QueueReader;
    using Clock = std::chrono::steady_clock;
    using Lock = std::unique_lock<std::mutex>;
    /// Payloads to destroy after the lock is released: destructors may be slow, or call the queue.
    using Payloads = std::vector<std::shared_ptr<void>>;
    struct Entry {
        std::uint64_t sequence = 0;
        std::size_t bytes = 0;
        std::shared_ptr<void> payload;
        std::set<std::uint64_t> pending; ///< readers that have not received it yet
        std::set<std::uint64_t> holders; ///< readers that have not released it yet
        bool dropped = false;            ///< counted as such

        [[nodiscard]] bool needed() const { return !pending.empty() || !holders.empty(); }
    };
    struct ReaderState {
        std::uint64_t delivered = 0;
        std::uint64_t missed = 0;
        Clock::time_point last_active{};
        bool stalled = false;
        bool latest_only = false;
        bool attached = true;
    };
    enum class Retain { none, newest };
    enum class Droppable { any, unwaited }; ///< unwaited: by readers that no policy waits for

    // For QueueReader, whose header describes these.
    void detach(std::uint64_t reader);
    void remove_reader(std::uint64_t reader); ///< and its counters
    Delivery next(std::uint64_t reader, std::chrono::nanoseconds limit);
    void set_latest_only(std::uint64_t reader, bool latest_only);
    bool release(std::uint64_t reader, std::uint64_t sequence);
    ReaderState state_of(std::uint64_t reader) const;

    std::size_t attached() const;
    std::size_t depth() const;
    std::size_t steps() const;
    bool fits(std::size_t bytes) const;
    bool make_space(Lock& lock, std::size_t bytes, Payloads& released);
    bool make_space_from_unwaited(std::size_t bytes, Payloads& released);
    bool wait_for_space(Lock& lock, std::size_t bytes, Payloads& released);
    /// Sleep until a change, or for a moment. Returns false after the deadline. If a wait hook
    /// throws, the lock is released.
    bool wait_for_change(Lock& lock, Clock::time_point deadline);
    bool waiting_may_help(std::size_t bytes) const;
    void mark_stalled(Clock::time_point since);
    bool is_stalled(std::uint64_t reader) const;
    bool is_latest_only(std::uint64_t reader) const;
    bool held_by_latest_only(const Entry& entry) const;
    bool can_drop(const Entry& entry, Droppable droppable) const;
    bool has_active_reader() const;
    void remove_unneeded(Retain retain, Payloads& released);
    bool drop_oldest(Droppable droppable, Payloads& released);
    void drop_for_pending(Entry& entry);
    void drop_for_latest_only(Entry& entry);
    void count_dropped(Entry& entry, std::uint64_t reader);
    void count_refused();
    std::deque<Entry>::iterator remove(std::deque<Entry>::iterator entry, Payloads& released);
    Retain retained() const { return options_.keep_newest ? Retain::newest : Retain::none; }
    void notify_listener() const;
    static void mark_active(ReaderState& reader);
    static Clock::time_point deadline_after(std::chrono::nanoseconds limit);

    const QueueOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;   ///< a step was released, or a reader attached
    std::condition_variable published_; ///< a step was published, or the queue was closed
    std::deque<Entry> entries_;         ///< oldest first
    std::map<std::uint64_t, ReaderState> readers_;
    std::size_t reserved_ = 0; ///< steps; their bytes are in the counters
    std::uint64_t next_sequence_ = 0;
    std::uint64_t next_reader_ = 0;
    bool closed_ = false;
    QueueCounters counters_;
    CommandMailbox commands_;
    mutable std::mutex listener_mutex_; ///< separate, since the listener may call the queue
    std::function<void()> listener_;
};

} // namespace uzushio::staging
