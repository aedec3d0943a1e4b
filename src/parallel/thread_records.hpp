#pragma once

#include <deque>

#include "parallel/section_monitor.hpp"
#include "parallel/section_names.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::parallel {

/// Monitors and counters of the parts of a work that `on_threads` calls. The last part, which is
/// that of the calling thread, records in those of the rank.
class ThreadRecords {
  public:
    /// `sections` and `traffic` must outlive the object.
    ThreadRecords(int parts, SectionMonitor& sections, Traffic& traffic)
        : sections_(sections), traffic_(traffic), others_(static_cast<std::size_t>(parts - 1)) {}

    [[nodiscard]] SectionMonitor& sections(int part) {
        const auto at = static_cast<std::size_t>(part);
        return at < others_.size() ? others_[at].sections : sections_;
    }
    [[nodiscard]] Traffic& traffic(int part) {
        const auto at = static_cast<std::size_t>(part);
        return at < others_.size() ? others_[at].traffic : traffic_;
    }
    /// Count the time since the last lap as waiting for other threads, and add their work and
    /// messages to those of the rank, whose time is that of the calling thread.
    void collect() {
        if (others_.empty())
            return;
        sections_.lap(section::wait);
        for (auto& [sections, traffic] : others_) {
            sections_.add_work_of(sections);
            traffic_ += traffic;
            sections.reset();
            traffic.reset();
        }
    }

  private:
    struct Records {
        SectionMonitor sections;
        Traffic traffic;
    };
    SectionMonitor& sections_;
    Traffic& traffic_;
    std::deque<Records> others_;
};

} // namespace uzushio::parallel
