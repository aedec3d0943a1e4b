#include "parallel/section_monitor.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

using uzushio::parallel::Section;
using uzushio::parallel::SectionMonitor;

namespace {

const SectionMonitor::Totals& found(const SectionMonitor& monitor, const std::string& name,
                                    int parent = -1) {
    for (const auto& totals : monitor.sections())
        if (totals.name == name && totals.parent == parent)
            return totals;
    throw std::runtime_error("no section " + name);
}

void spend_time() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

} // namespace

TEST(CounterClock, HasTheIntervalsOfTheSteadyClockAndDoesNotRunBack) {
    using uzushio::parallel::CounterClock;
    const auto begin = CounterClock::now();
    const auto steady_begin = std::chrono::steady_clock::now();
    for (auto last = begin; CounterClock::now() - begin < std::chrono::milliseconds(20);) {
        const auto now = CounterClock::now();
        ASSERT_GE(now + std::chrono::microseconds(1), last); // readings may change places
        last = now;
    }
    const std::chrono::duration<double> steady = std::chrono::steady_clock::now() - steady_begin;
    const std::chrono::duration<double> counted = CounterClock::now() - begin;
    // The clocks are read one after the other; other processes may run between.
    EXPECT_NEAR(counted / steady, 1.0, 0.2);
}

TEST(SectionMonitor, AddsCallsSecondsAndWorkOfASection) {
    SectionMonitor monitor;
    for (int call = 0; call < 3; ++call) {
        const Section section(monitor, "step", {.flops = 10, .bytes = 4});
        spend_time();
    }
    const auto& step = found(monitor, "step");
    EXPECT_EQ(step.calls, 3);
    EXPECT_GE(step.seconds, 3 * 0.002);
    EXPECT_LE(step.seconds, monitor.elapsed());
    EXPECT_EQ(step.work.flops, 30);
    EXPECT_EQ(step.work.bytes, 12);
}

TEST(SectionMonitor, SectionsOfTheSameNameDifferByTheSectionsAroundThem) {
    SectionMonitor monitor;
    {
        const Section step(monitor, "step");
        const Section halo(monitor, "halo");
    }
    {
        const Section halo(monitor, "halo");
    }
    EXPECT_EQ(monitor.sections().size(), 3u);
    EXPECT_EQ(found(monitor, "halo", 0).calls, 1);
    EXPECT_EQ(found(monitor, "halo").calls, 1);
}

TEST(SectionMonitor, LapsDivideTheTimeOfTheSectionAroundThem) {
    SectionMonitor monitor;
    {
        const Section step(monitor, "step");
        for (int row = 0; row < 4; ++row) {
            spend_time();
            monitor.lap("FFT", {.flops = 5});
            monitor.lap("pointwise");
        }
    }
    const double parts = found(monitor, "FFT", 0).seconds + found(monitor, "pointwise", 0).seconds;
    EXPECT_EQ(found(monitor, "FFT", 0).work.flops, 20);
    EXPECT_LE(parts, found(monitor, "step").seconds);
    EXPECT_GE(found(monitor, "FFT", 0).seconds, 4 * 0.002);
}

TEST(SectionMonitor, EndsSectionsThatWereLeftOpenInside) {
    SectionMonitor monitor;
    const std::size_t outer = monitor.begin("outer");
    monitor.begin("inner");
    monitor.end(outer);
    EXPECT_EQ(found(monitor, "inner", 0).calls, 1);
    EXPECT_EQ(found(monitor, "outer").calls, 1);
    {
        const Section next(monitor, "next");
    }
    EXPECT_EQ(found(monitor, "next").calls, 1); // in no other section
}

TEST(SectionMonitor, ResetSetsTotalsToZeroAndKeepsSectionsOpen) {
    SectionMonitor monitor;
    {
        const Section step(monitor, "step");
        spend_time();
        monitor.reset();
    }
    EXPECT_EQ(found(monitor, "step").calls, 1);
    EXPECT_LT(found(monitor, "step").seconds, 0.002);
}

TEST(SectionMonitor, TraceHoldsIntervalsThatNest) {
    SectionMonitor monitor;
    monitor.start_trace(100);
    {
        const Section step(monitor, "step");
        spend_time();
        monitor.lap("FFT");
        const Section halo(monitor, "halo");
    }
    const auto events = monitor.events();
    ASSERT_EQ(events.size(), 3u);
    const auto& step = events[0];
    EXPECT_EQ(monitor.sections()[static_cast<std::size_t>(step.section)].name, "step");
    for (const auto& inside : events.subspan(1)) {
        EXPECT_GE(inside.start, step.start);
        EXPECT_LE(inside.start + inside.duration, step.start + step.duration);
    }
    EXPECT_GE(events[2].start, events[1].start + events[1].duration);
}

TEST(SectionMonitor, TraceIsBoundedAndCountsDroppedEvents) {
    SectionMonitor monitor;
    monitor.start_trace(10);
    for (int step = 0; step < 20; ++step) {
        const Section section(monitor, "step");
        monitor.lap("FFT");
    }
    EXPECT_EQ(monitor.events().size(), 10u);
    EXPECT_EQ(monitor.dropped_events(), 30);
    int laps = 0;
    for (const auto& event : monitor.events())
        laps += monitor.sections()[static_cast<std::size_t>(event.section)].name == "FFT";
    EXPECT_LE(laps, 5); // the second half is for sections
}
