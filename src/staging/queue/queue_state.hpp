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
#include <set>
#include <vector>

#include "staging/queue/delivery.hpp"
#include "staging/queue/queue_counters.hpp"
#include "staging/queue/queue_options.hpp"

namespace uzushio::staging {

/// What a Queue and its readers share; private to them, whose headers say what each member does.
class QueueState {
  public:
    explicit QueueState(const QueueOptions& options);

    bool reserve(std::size_t bytes);
    std::uint64_t commit(std::shared_ptr<void> payload, std::size_t bytes);
    void cancel(std::size_t bytes);
    void close();
    bool drain(std::chrono::nanoseconds limit);
    QueueCounters counters() const;

    bool wait_for_readers(std::size_t readers, std::chrono::nanoseconds limit);
    void on_news(std::function<void()> tell);
    std::vector<std::uint64_t> sequences() const;
    std::size_t most_steps() const;
    void tell() const; ///< what `on_news` was given

    std::uint64_t attach();
    void detach(std::uint64_t reader);
    void forget(std::uint64_t reader); ///< its counters too
    std::size_t readers() const;
    Delivery next(std::uint64_t reader, std::chrono::nanoseconds limit);
    bool release(std::uint64_t reader, std::uint64_t sequence);
    std::uint64_t delivered(std::uint64_t reader) const;
    std::uint64_t missed(std::uint64_t reader) const;
    bool stalled(std::uint64_t reader) const;

  private:
    using Clock = std::chrono::steady_clock;
    using Lock = std::unique_lock<std::mutex>;
    /// Payloads to let go of once the lock is open: their destructors may take long, or call back.
    using Garbage = std::vector<std::shared_ptr<void>>;
    struct Entry {
        std::uint64_t sequence = 0;
        std::size_t bytes = 0;
        std::shared_ptr<void> payload;
        std::set<std::uint64_t> due;  ///< readers that it is to be handed to
        std::set<std::uint64_t> held; ///< readers that have it in their hands
        bool dropped = false;         ///< counted as such

        [[nodiscard]] bool wanted() const { return !due.empty() || !held.empty(); }
    };
    struct Reader {
        std::uint64_t delivered = 0;
        std::uint64_t missed = 0;
        Clock::time_point moved{};
        bool stalled = false;
        bool attached = true;
    };
    enum class Sparing { newest, none };
    enum class Whose { anyone, stalled };

    std::size_t attached() const;
    std::size_t depth() const;
    bool fits(std::size_t bytes) const;
    bool make_room(Lock& lock, std::size_t bytes, Garbage& garbage);
    /// Sleep on `room_` for a moment; false: the deadline is there. If it throws, for an interrupt,
    /// the lock is open.
    bool wait_for_change(Lock& lock, Clock::time_point deadline);
    bool wait_for_room(Lock& lock, std::size_t bytes, Garbage& garbage);
    bool waiting_may_help(std::size_t bytes) const;
    void mark_stalled(Clock::time_point since);
    bool is_stalled(std::uint64_t reader) const;
    bool anyone_moves() const;
    void sweep(Sparing sparing, Garbage& garbage);
    bool give_up_oldest(Whose whose, Garbage& garbage);
    void miss(Entry& entry);
    void refuse();
    std::deque<Entry>::iterator remove(std::deque<Entry>::iterator entry, Garbage& garbage);
    static void touch(Reader& reader);
    const Reader& known(std::uint64_t reader) const;

    const QueueOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable room_; ///< something was released, or someone came
    std::condition_variable news_; ///< something was published
    std::deque<Entry> entries_;    ///< oldest first
    std::map<std::uint64_t, Reader> readers_;
    std::size_t reserved_ = 0; ///< steps; their bytes are in the counters
    std::uint64_t next_sequence_ = 0;
    std::uint64_t next_reader_ = 0;
    bool closed_ = false;
    QueueCounters counters_;
    mutable std::mutex telling_; ///< apart, since what is told may ask the queue
    std::function<void()> tell_;
};

} // namespace uzushio::staging
