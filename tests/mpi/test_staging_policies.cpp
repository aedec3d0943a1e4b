// Queue policies with the solver and the readers in separate processes or threads.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "staging/queue/queue_timeout.hpp"
#include "staging/reader.hpp"
#include "staging/staging_error.hpp"
#include "staging/writer.hpp"
#include "support/flow.hpp"
#include "support/other_process.hpp"
#include "support/staging_sides.hpp"

namespace uzushio::staging {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using suite::Folder;
using test::Flow;
using test::OtherProcess;

constexpr auto long_enough = 60s;

class StagingPolicies : public testing::TestWithParam<std::string> {
  protected:
    [[nodiscard]] EngineOptions options(QueuePolicy policy, std::size_t depth) const {
        EngineOptions options;
        options.engine = GetParam();
        options.contact = contact();
        options.queue.policy = policy;
        options.queue.depth = depth;
        options.queue.time_limit = long_enough;
        options.wait_for_readers = 1;
        options.close_limit = 100ms;
        return options;
    }
    [[nodiscard]] std::string contact() const { return (folder_.path() / "contact").string(); }
    [[nodiscard]] Reader reader() const { return Reader(contact(), MPI_COMM_NULL); }

    /// Reader in another process: it reports the index of one step and, after `pause`, the indices
    /// of the next complete ones; -1 for an incomplete one.
    [[nodiscard]] auto reading(bool pauses) const {
        return [this, pauses](const OtherProcess::Send& send) {
            Reader attached = reader();
            for (bool first = true; attached.next(long_enough) == StepStatus::step; first = false) {
                send(attached.step().index);
                if (first && pauses)
                    raise(SIGSTOP);
                send(Flow::is_complete(attached) ? attached.step().index : -1);
            }
        };
    }

  private:
    Folder folder_;
};

/// Return the index of the next step, after a check that it is complete.
std::int64_t next_of(Reader& reader) {
    if (reader.next(long_enough) != StepStatus::step)
        return -1;
    EXPECT_TRUE(Flow::is_complete(reader));
    return reader.step().index;
}

TEST_P(StagingPolicies, DropNewestKeepsQueuedSteps) {
    Writer writer("flow", MPI_COMM_NULL, options(QueuePolicy::drop_newest, 2));
    Flow flow(writer);
    Reader attached = reader();
    EXPECT_EQ(flow.publish(0), 0u);
    EXPECT_EQ(next_of(attached), 0);
    EXPECT_EQ(flow.publish(1), 1u);
    EXPECT_EQ(flow.publish(2), std::nullopt);
    EXPECT_TRUE(Flow::is_complete(attached)) << "a held step is kept";
    EXPECT_EQ(next_of(attached), 1);
    EXPECT_EQ(flow.publish(3), 2u);
    EXPECT_EQ(next_of(attached), 3);
    const QueueCounters counters = writer.counters();
    EXPECT_EQ(counters.published, 4u);
    EXPECT_EQ(counters.delivered, 3u);
    EXPECT_EQ(counters.dropped, 1u);
    EXPECT_EQ(counters.seconds_waited, 0.0);
    EXPECT_EQ(counters.peak_bytes, 2 * 8u * Flow::default_size);
}

TEST_P(StagingPolicies, StepsPublishedDuringAReadersPauseAreDroppedByThePolicy) {
    struct Case {
        QueuePolicy policy;
        std::vector<std::int64_t> seen; ///< afterwards; of a queue of three, with one in its hands
    };
    for (const auto& [policy, seen] :
         {Case{QueuePolicy::drop_oldest, {4, 5}}, Case{QueuePolicy::latest_only, {5}}}) {
        Writer writer("flow", MPI_COMM_NULL, options(policy, 3));
        Flow flow(writer);
        Reader attached = reader();
        EXPECT_TRUE(flow.publish(0));
        EXPECT_EQ(next_of(attached), 0);
        for (int i = 1; i <= 5; ++i)
            EXPECT_TRUE(flow.publish(i));
        EXPECT_TRUE(Flow::is_complete(attached));
        for (const std::int64_t index : seen)
            EXPECT_EQ(next_of(attached), index);
        EXPECT_EQ(writer.counters().dropped, 5u - seen.size());
        EXPECT_EQ(writer.counters().seconds_waited, 0.0);
    }
}

TEST_P(StagingPolicies, LatestOnlyDeliversTheNewestWithMoreHeldStepsThanItsDepth) {
    Writer writer("flow", MPI_COMM_NULL, options(QueuePolicy::latest_only, 2));
    Flow flow(writer);
    std::vector<Reader> readers;
    for (int i = 0; i < 3; ++i) {
        readers.push_back(reader());
        EXPECT_TRUE(flow.publish(i));
        EXPECT_EQ(next_of(readers.back()), i);
    }
    for (int i = 3; i < 10; ++i)
        EXPECT_TRUE(flow.publish(i)) << "each reader holds another step";
    for (Reader& attached : readers) {
        EXPECT_TRUE(Flow::is_complete(attached));
        EXPECT_EQ(next_of(attached), 9);
    }
    EXPECT_EQ(writer.counters().peak_bytes, 4 * 8u * Flow::default_size);
}

TEST_P(StagingPolicies, BlockWaitsForTheReaderThatReleases) {
    Writer writer("flow", MPI_COMM_NULL, options(QueuePolicy::block, 1));
    Flow flow(writer);
    std::vector<std::int64_t> seen;
    std::thread reading([&] {
        Reader attached = reader();
        while (attached.next(long_enough) == StepStatus::step) {
            std::this_thread::sleep_for(10ms);
            EXPECT_TRUE(Flow::is_complete(attached));
            seen.push_back(attached.step().index);
        }
    });
    for (int i = 0; i < 6; ++i)
        EXPECT_TRUE(flow.publish(i));
    writer.close();
    reading.join();
    EXPECT_EQ(seen.size(), 6u) << "none was dropped";
    EXPECT_GT(writer.counters().seconds_waited, 0.04);
}

TEST_P(StagingPolicies, BlockWaitsOnceAndAtMostItsLimit) {
    EngineOptions given = options(QueuePolicy::block, 1);
    given.queue.time_limit = 100ms;
    Writer writer("flow", MPI_COMM_NULL, given);
    Flow flow(writer);
    Reader attached = reader();
    EXPECT_TRUE(flow.publish(0));
    EXPECT_EQ(next_of(attached), 0);
    EXPECT_EQ(flow.publish(1), std::nullopt);
    const double once = writer.counters().seconds_waited;
    EXPECT_GE(once, 0.1);
    for (int i = 2; i < 10; ++i)
        EXPECT_EQ(flow.publish(i), std::nullopt);
    EXPECT_LT(writer.counters().seconds_waited - once, 0.4) << "not 0.1 s for each step";
    EXPECT_EQ(writer.counters().dropped, 9u);
    EXPECT_TRUE(Flow::is_complete(attached));
    attached.release();
    std::int64_t index = 10; // until the release has arrived
    for (const auto start = Clock::now(); Clock::now() - start < long_enough; ++index)
        if (flow.publish(index))
            break;
    EXPECT_EQ(next_of(attached), index) << "a continued reader gets steps again";
}

TEST_P(StagingPolicies, BlockFailsWithOnTimeoutFail) {
    EngineOptions given = options(QueuePolicy::block, 1);
    given.queue.time_limit = 50ms;
    given.queue.on_timeout = OnTimeout::fail;
    Writer writer("flow", MPI_COMM_NULL, given);
    Flow flow(writer);
    Reader attached = reader();
    EXPECT_TRUE(flow.publish(0));
    EXPECT_EQ(next_of(attached), 0);
    EXPECT_THROW((void)flow.publish(1), QueueTimeout);
}

TEST_P(StagingPolicies, ALateReaderStartsAtTheNewestStepAndTheSolverDoesNotWaitWithoutReaders) {
    EngineOptions given = options(QueuePolicy::block, 2);
    given.wait_for_readers = 0;
    Writer writer("flow", MPI_COMM_NULL, given);
    Flow flow(writer);
    for (int i = 0; i < 7; ++i)
        EXPECT_TRUE(flow.publish(i));
    EXPECT_EQ(writer.counters().dropped, 0u);
    Reader late = reader();
    EXPECT_EQ(next_of(late), 6);
    EXPECT_EQ(late.next(0s), StepStatus::timeout);
    EXPECT_TRUE(flow.publish(7));
    Reader later = reader();
    EXPECT_EQ(next_of(later), 7);
    EXPECT_EQ(next_of(late), 7);
    late.release();
    later.release();
    writer.close();
    EXPECT_EQ(late.next(long_enough), StepStatus::ended);
    EXPECT_EQ(later.next(long_enough), StepStatus::ended);
    EXPECT_FALSE(std::filesystem::exists(contact())) << "removed at closing";
}

TEST_P(StagingPolicies, StepsOfAKilledReaderAreReleased) {
    OtherProcess other(reading(true)); // before other threads start
    Writer writer("flow", MPI_COMM_NULL, options(QueuePolicy::block, 1));
    Flow flow(writer);
    EXPECT_TRUE(flow.publish(0));
    EXPECT_EQ(other.receive(long_enough), 0);
    other.end();
    const auto start = Clock::now();
    for (int i = 1; i < 5; ++i)
        EXPECT_TRUE(flow.publish(i)) << "the queue has one place";
    EXPECT_LT(Clock::now() - start, long_enough) << "by the broken connection, not by the limit";
    EXPECT_EQ(writer.counters().dropped, 0u);
}

TEST_P(StagingPolicies, AStoppedReaderCostsOneLimitAndKeepsItsStep) {
    OtherProcess other(reading(true));
    EngineOptions given = options(QueuePolicy::block, 3);
    given.queue.time_limit = 200ms;
    given.close_limit = long_enough;
    Writer writer("flow", MPI_COMM_NULL, given);
    Flow flow(writer);
    EXPECT_TRUE(flow.publish(0));
    EXPECT_EQ(other.receive(long_enough), 0);
    std::vector<int> taken;
    for (int i = 1; i < 20; ++i)
        if (flow.publish(i))
            taken.push_back(i);
    EXPECT_LT(writer.counters().seconds_waited, 2.0) << "one limit of 0.2 s, not 19 of them";
    EXPECT_EQ(taken, (std::vector<int>{1, 2})) << "the maximum depth";
    EXPECT_EQ(writer.counters().dropped, 17u);
    other.signal(SIGCONT);
    EXPECT_EQ(other.receive(long_enough), 0) << "complete, although the writer continued";
    writer.close();
    std::set<int> seen; // each is sent twice
    while (const auto index = other.receive(1s))
        seen.insert(static_cast<int>(*index));
    EXPECT_EQ(std::vector<int>(seen.begin(), seen.end()), taken)
        << "the accepted steps, and no others";
    EXPECT_TRUE(other.ended_well());
}

TEST_P(StagingPolicies, AForkedProcessThatEndsDoesNotAffectItsParentsStreams) {
    std::optional<Writer> writer(std::in_place, "flow", MPI_COMM_NULL,
                                 options(QueuePolicy::block, 3));
    Flow flow(*writer);
    std::optional<Reader> attached(reader());
    EXPECT_TRUE(flow.publish(0));
    EXPECT_EQ(next_of(*attached), 0);
    OtherProcess child([&](const OtherProcess::Send& send) {
        const auto refused = [](const auto& work) {
            try {
                work();
            } catch (const StagingError&) {
                return 1;
            }
            return 0;
        };
        send(refused([&] { writer->begin_step(1, 0.0); }));
        send(refused([&] { (void)attached->next(1s); }));
        attached->release();
        attached->detach();
        writer->close();
        attached.reset();
        writer.reset();
        send(2);
    });
    EXPECT_EQ(child.receive(long_enough), 1);
    EXPECT_EQ(child.receive(long_enough), 1);
    EXPECT_EQ(child.receive(long_enough), 2);
    EXPECT_TRUE(child.ended_well());
    EXPECT_TRUE(std::filesystem::exists(contact()));
    EXPECT_TRUE(Flow::is_complete(*attached)) << "it still has its step";
    EXPECT_TRUE(flow.publish(1));
    EXPECT_EQ(next_of(*attached), 1);
    Reader another = reader();
    EXPECT_EQ(next_of(another), 1) << "other readers can attach";
    another.detach();
    attached->release();
    writer->close();
    EXPECT_EQ(attached->next(long_enough), StepStatus::ended);
}

TEST_P(StagingPolicies, AKilledWriterIsAnErrorForItsReaders) {
    OtherProcess other([this](const OtherProcess::Send& send) {
        Writer writer("flow", MPI_COMM_NULL, options(QueuePolicy::latest_only, 2));
        Flow flow(writer);
        for (std::int64_t i = 0;; ++i) {
            (void)flow.publish(i);
            send(i);
            std::this_thread::sleep_for(1ms);
        }
    });
    Reader attached = reader();
    EXPECT_GE(next_of(attached), 0);
    other.end();
    const auto start = Clock::now();
    EXPECT_THROW(while (attached.next(long_enough) == StepStatus::step){}, PeerGone);
    EXPECT_LT(Clock::now() - start, 30s);
}

INSTANTIATE_TEST_SUITE_P(Engines, StagingPolicies, testing::Values("shm", "tcp"),
                         [](const auto& test) { return test.param; });

} // namespace
} // namespace uzushio::staging
