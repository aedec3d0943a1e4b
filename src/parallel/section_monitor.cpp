#include "parallel/section_monitor.hpp"

namespace uzushio::parallel {

namespace {

double seconds_between(SectionMonitor::Clock::time_point from,
                       SectionMonitor::Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

} // namespace

int SectionMonitor::find(std::string_view name) {
    const int parent = open_section();
    int* link = parent < 0 ? &first_top_ : &links_[static_cast<std::size_t>(parent)].first_inside;
    while (*link >= 0) {
        if (sections_[static_cast<std::size_t>(*link)].name == name)
            return *link;
        link = &links_[static_cast<std::size_t>(*link)].next;
    }
    const int section = *link = static_cast<int>(sections_.size());
    sections_.push_back({std::string(name), parent});
    links_.emplace_back();
    return section;
}

std::ptrdiff_t SectionMonitor::record(int section, Clock::time_point start, Clock::time_point end,
                                      std::size_t limit) {
    if (max_events_ == 0)
        return -1;
    if (events_.size() >= limit) {
        ++dropped_;
        return -1;
    }
    events_.push_back({section, nanoseconds(start), (end - start).count()});
    return std::ssize(events_) - 1;
}

std::size_t SectionMonitor::begin(std::string_view name) {
    const std::size_t depth = open_.size();
    if (!active_)
        return depth;
    const int section = find(name);
    last_ = now();
    open_.push_back({section, last_, record(section, last_, last_, max_events_)});
    return depth;
}

void SectionMonitor::end(std::size_t depth) {
    if (!active_)
        return;
    last_ = now();
    while (open_.size() > depth) {
        const Open& open = open_.back();
        Totals& totals = sections_[static_cast<std::size_t>(open.section)];
        totals.calls += 1;
        totals.seconds += seconds_between(open.began, last_);
        if (open.event >= 0) {
            Event& event = events_[static_cast<std::size_t>(open.event)];
            event.duration = nanoseconds(last_) - event.start;
        }
        open_.pop_back();
    }
}

void SectionMonitor::lap(std::string_view name, const Work& work) {
    if (!active_)
        return;
    const auto end = now();
    const int section = find(name);
    Totals& totals = sections_[static_cast<std::size_t>(section)];
    totals.calls += 1;
    totals.seconds += seconds_between(last_, end);
    totals.work += work;
    record(section, last_, end, max_events_ / 2);
    last_ = end;
}

void SectionMonitor::add_section(std::string_view name, double seconds) {
    Totals& totals = sections_[static_cast<std::size_t>(find(name))];
    totals.calls += 1;
    totals.seconds += seconds;
}

void SectionMonitor::add_work(const Work& work) {
    if (!open_.empty())
        sections_[static_cast<std::size_t>(open_.back().section)].work += work;
}

void SectionMonitor::add_work_of(const SectionMonitor& other) {
    for (const Totals& totals : other.sections_)
        if (active_ && totals.parent < 0)
            sections_[static_cast<std::size_t>(find(totals.name))].work += totals.work;
}

double SectionMonitor::elapsed() const { return seconds_between(start_, Clock::now()); }

void SectionMonitor::reset(double earlier) {
    last_ = now();
    start_ =
        last_ - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(earlier));
    for (Totals& totals : sections_) {
        totals.calls = 0;
        totals.seconds = 0;
        totals.work = {};
    }
    for (Open& open : open_)
        open.began = last_;
}

void SectionMonitor::start_trace(std::size_t max_events) {
    trace_start_ = last_ = now();
    max_events_ = max_events;
    dropped_ = 0;
    events_.clear();
    events_.reserve(max_events);
    for (Open& open : open_)
        open.event = -1;
}

} // namespace uzushio::parallel
