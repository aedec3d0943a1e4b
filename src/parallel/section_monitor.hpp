#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/counter_clock.hpp"
#include "parallel/work.hpp"

namespace uzushio::parallel {

/// Monitor of this rank's sections: labelled parts of its time, nested in each other, with calls,
/// seconds and work. A section is identified by its name and the sections around it.
///
/// For use by one thread. `Section` begins and ends a section; `lap` divides the time of a loop
/// among sections without a second reading of the clock.
class SectionMonitor {
  public:
    using Clock = CounterClock;

    /// Totals of a section on this rank.
    struct Totals {
        std::string name;
        int parent; ///< index of the section around it, -1 if there is none
        std::int64_t calls = 0;
        double seconds = 0; ///< includes the sections inside it
        Work work{};        ///< stated for this section itself, without those inside it
    };

    /// One interval of a section in a trace. Times are nanoseconds since `start_trace`.
    struct Event {
        int section; ///< index in `sections`
        std::int64_t start;
        std::int64_t duration;
    };

    /// Begin a section inside the open one; return the argument of `end`.
    std::size_t begin(std::string_view name);
    /// End the section that `begin` opened, and all that were begun in it and have not ended.
    void end(std::size_t depth);
    /// Add the time since the last lap, `mark`, begin or end of a section to the section `name`
    /// inside the open one.
    void lap(std::string_view name, const Work& work = {});
    /// Count the time of the next `lap` from now.
    void mark() { last_ = now(); }
    /// Add a call that took `seconds` to the section `name` inside the open one, without an event.
    void add_section(std::string_view name, double seconds);
    /// Add to the work of the open section; no effect if none is open.
    void add_work(const Work& work);
    /// Add the work of the outermost sections of `other`, which another thread has recorded, to
    /// those of the same names inside the open one.
    void add_work_of(const SectionMonitor& other);

    /// Return the sections in the order of their first begin: each after the one around it. Open
    /// ones count up to the last end.
    [[nodiscard]] std::span<const Totals> sections() const { return sections_; }
    /// Return the seconds since construction or the last `reset`.
    [[nodiscard]] double elapsed() const;
    /// Set all totals to zero. Open sections remain open and count from now. `earlier`: seconds
    /// before now that count as elapsed.
    void reset(double earlier = 0);

    /// Switch recording on or off, to measure its cost. No section may be open.
    void set_active(bool active) { active_ = active; }

    /// Record events from now on, at most `max_events`. Laps are recorded up to half of that
    /// number, then only sections that begin and end, so that the trace covers more of a long run.
    void start_trace(std::size_t max_events);
    /// Return the events in the order of their begins. Those of open sections have duration 0.
    [[nodiscard]] std::span<const Event> events() const { return events_; }
    /// Return the number of events that were not recorded.
    [[nodiscard]] std::int64_t dropped_events() const { return dropped_; }

  private:
    struct Open {
        int section;
        Clock::time_point began;
        std::ptrdiff_t event; ///< index in `events_`, -1 if not recorded
    };
    /// Links of the tree of sections, by index; -1 ends a list.
    struct Links {
        int first_inside = -1, next = -1;
    };

    /// Return the time. The processor may read its counter a few ns before an earlier reading.
    [[nodiscard]] Clock::time_point now() const { return std::max(last_, Clock::now()); }
    [[nodiscard]] int open_section() const { return open_.empty() ? -1 : open_.back().section; }
    int find(std::string_view name);
    std::ptrdiff_t record(int section, Clock::time_point start, Clock::time_point end,
                          std::size_t limit);
    [[nodiscard]] std::int64_t nanoseconds(Clock::time_point moment) const {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(moment - trace_start_).count();
    }

    std::vector<Totals> sections_;
    std::vector<Links> links_;
    int first_top_ = -1; ///< first section that is in no other
    std::vector<Open> open_;
    bool active_ = true;
    Clock::time_point start_ = Clock::now(), last_ = start_, trace_start_ = start_;
    std::vector<Event> events_;
    std::size_t max_events_ = 0;
    std::int64_t dropped_ = 0;
};

/// Section of a monitor from construction to destruction.
class Section {
  public:
    Section(SectionMonitor& monitor, std::string_view name, const Work& work = {})
        : monitor_(monitor), depth_(monitor.begin(name)) {
        monitor.add_work(work);
    }
    ~Section() { monitor_.end(depth_); }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

  private:
    SectionMonitor& monitor_;
    std::size_t depth_;
};

} // namespace uzushio::parallel
