// ranks: 1 2 4
// Errors, limits, waits and the end of a stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "staging/datamodel/copy.hpp"
#include "staging/queue/queue_timeout.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/wire/checksum.hpp"
#include "staging/wire/message_codec.hpp"
#include "support/queued_writer.hpp"

namespace uzushio::staging::queued {
namespace {

/// Return the error of `publish`, which has the same type and text on all ranks.
template <class Error> std::string thrown(Writer& writer, LocalStep step) {
    try {
        (void)writer.engine.publish(std::move(step));
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was thrown";
}

TEST(StagingQueued, AnInvalidStepOnOneRankFailsOnAllAndTheNextIsPublished) {
    Writer writer(options(QueuePolicy::block, 1));
    Solver solver(writer.group, 4);
    const bool last = writer.group.rank() == writer.group.size() - 1;
    EXPECT_EQ(writer.engine.publish(solver.step(0)), 0u);

    LocalStep shape = solver.step(1);
    if (last)
        shape.values[1].count[0] = 3;
    EXPECT_NE(thrown<StagingError>(writer, std::move(shape)).find("field \"w\""),
              std::string::npos);
    LocalStep table = solver.step(1);
    if (last)
        table.part.fields[0].topology = 7;
    EXPECT_NE(thrown<StagingError>(writer, std::move(table)).find("unknown topology"),
              std::string::npos);
    if (writer.group.size() > 1) {
        EXPECT_NE(thrown<StagingError>(writer, solver.step(last ? 2 : 1)).find("the same step"),
                  std::string::npos);
        LocalStep field = solver.step(1);
        if (last)
            field.part.fields[0].attributes = {{"unit", std::string("m/s")}};
        EXPECT_NE(thrown<StagingError>(writer, std::move(field)).find("differently"),
                  std::string::npos);
    }
    EXPECT_EQ(writer.engine.publish(solver.step(2)), 1u);
    writer.expect_held(1, 2, solver);
    EXPECT_EQ(writer.engine.counters().published, 2u);
}

TEST(StagingQueued, MissingMemoryOnOneRankFailsOnAllAndReleasesTheReservation) {
    bool scarce = false;
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    const MakeSegment make = [&](std::size_t bytes) {
        if (scarce && group.rank() == group.size() - 1)
            throw StagingError("There is no memory on the last rank.");
        return make_heap_segment(bytes);
    };
    Writer writer(options(QueuePolicy::block, 2), make);
    auto reader = reader_of(writer);
    Solver solver(writer.group, 4);
    EXPECT_EQ(writer.engine.publish(solver.step(0)), 0u);
    scarce = true;
    EXPECT_EQ(thrown<StagingError>(writer, solver.step(1)), "There is no memory on the last rank.");
    EXPECT_EQ(writer.served->held->find(1), nullptr) << "readers must not get an incomplete step";
    EXPECT_NE(writer.served->held->find(0), nullptr);
    EXPECT_EQ(writer.engine.counters().published, 1u);
    if (reader) {
        EXPECT_EQ(writer.engine.counters().steps, 1u);
        EXPECT_EQ(writer.engine.counters().bytes, writer.engine.counters().peak_bytes / 2);
    }
    scarce = false;
    EXPECT_EQ(writer.engine.publish(solver.step(1)), 1u);
    writer.expect_held(1, 1, solver);
}

TEST(StagingQueued, ATimeoutIsThrownOnAllRanks) {
    EngineOptions given = options(QueuePolicy::block, 1);
    given.queue.time_limit = 20ms;
    given.queue.on_timeout = OnTimeout::fail;
    Writer writer(given);
    auto reader = reader_of(writer);
    Solver solver(writer.group, 4);
    EXPECT_TRUE(writer.engine.publish(solver.step(0)));
    EXPECT_NE(thrown<QueueTimeout>(writer, solver.step(1)).find("within"), std::string::npos);
    if (reader)
        reader->detach();
    EXPECT_EQ(writer.engine.publish(solver.step(2)), 1u);
}

TEST(StagingQueued, AStepLargerThanTheQueueIsRefusedOnAllRanks) {
    EngineOptions given = options(QueuePolicy::block, 1);
    given.queue.bytes = 1000;
    Writer writer(given);
    EXPECT_NE(thrown<StagingError>(writer, Solver(writer.group, 10).step(0)).find("never fits"),
              std::string::npos);
}

TEST(StagingQueued, AStepThatIsBeingSentKeepsItsMemoryAfterTheQueueDroppedIt) {
    Writer writer(options(QueuePolicy::drop_oldest, 1));
    Solver solver(writer.group, 4);
    ASSERT_EQ(writer.engine.publish(solver.step(0)), 0u);
    auto sending = writer.served->held->find(0);
    const std::byte* const memory = sending->segment->bytes().data();
    const std::vector<std::byte> before(sending->segment->bytes().begin(),
                                        sending->segment->bytes().end());
    for (int i = 1; i < 6; ++i)
        ASSERT_TRUE(writer.engine.publish(solver.step(i)));
    EXPECT_EQ(writer.served->held->find(0), nullptr);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), sending->segment->bytes().begin()));
    std::thread([&] { sending.reset(); }).join();
    const auto another = writer.served->held->find(5);
    ASSERT_EQ(writer.engine.publish(solver.step(6)), 6u);
    EXPECT_EQ(writer.served->held->find(6)->segment->bytes().data(), memory)
        << "it was returned by its last user";
    EXPECT_LE(writer.engine.segments(), 2u);
}

TEST(StagingQueued, TheFirstStepWaitsForReadersAsConfigured) {
    EngineOptions given = options(QueuePolicy::block, 2);
    given.wait_for_readers = 1;
    given.wait_limit = 20ms;
    Writer writer(given);
    Solver solver(writer.group, 4);
    EXPECT_NE(thrown<PeerGone>(writer, solver.step(0)).find("and 0 attached within 0.02 s"),
              std::string::npos);
    auto reader = reader_of(writer);
    EXPECT_EQ(writer.engine.publish(solver.step(0)), 0u);
    if (reader)
        reader->detach();
    EXPECT_EQ(writer.engine.publish(solver.step(1)), 1u) << "later ones do not wait";
}

TEST(StagingQueued, CloseDeliversTheRemainingStepsAndEndsTheStream) {
    EngineOptions given = options(QueuePolicy::block, 2);
    given.close_limit = long_enough;
    Writer writer(given);
    Solver solver(writer.group, 4);
    auto reader = reader_of(writer);
    ASSERT_TRUE(writer.engine.publish(solver.step(0)));
    std::vector<StepStatus> arrivals;
    std::thread reading([&] {
        if (!reader)
            return;
        const Delivery delivery = reader->next(long_enough);
        EXPECT_NE(writer.served->held->find(0), nullptr);
        EXPECT_FALSE(writer.served->closed);
        EXPECT_TRUE(reader->release(delivery.sequence));
        arrivals = {delivery.status, reader->next(long_enough).status};
    });
    writer.engine.close();
    reading.join();
    if (reader) {
        EXPECT_EQ(arrivals, (std::vector{StepStatus::step, StepStatus::ended}));
    }
    EXPECT_TRUE(writer.served->closed);
    EXPECT_GT(writer.served->close_limit, 0s);
    EXPECT_EQ(writer.served->held->find(0), nullptr);
    EXPECT_EQ(writer.engine.segments(), 0u) << "memory is freed before the engine is destroyed";
    writer.engine.close();
    EXPECT_THROW((void)writer.engine.publish(solver.step(1)), StagingError);
    EXPECT_TRUE(writer.engine.buffer(8).empty());
}

TEST(StagingQueued, CloseWaitsForAStoppedReaderWithinItsLimit) {
    EngineOptions given = options(QueuePolicy::block, 2);
    given.close_limit = 30ms;
    Writer writer(given);
    auto reader = reader_of(writer);
    ASSERT_TRUE(writer.engine.publish(Solver(writer.group, 4).step(0)));
    const auto start = std::chrono::steady_clock::now();
    writer.engine.close();
    EXPECT_LT(std::chrono::steady_clock::now() - start, long_enough);
    EXPECT_TRUE(writer.served->closed);
}

TEST(StagingQueued, AFailedServiceOnOneRankFailsOnAll) {
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    auto served = std::make_shared<Served>();
    const MakeService make = [&](const HeldSteps& held, Queue* queue) -> std::unique_ptr<Service> {
        if (group.rank() == group.size() - 1)
            throw StagingError("The port is taken.");
        return std::make_unique<test::FakeService>(group.rank(), served, held, queue);
    };
    try {
        const QueuedEngine engine(group, EngineOptions{}, make_heap_segment, make);
        ADD_FAILURE() << "made";
    } catch (const StagingError& error) {
        EXPECT_STREQ(error.what(), "The port is taken.");
    }
    EXPECT_TRUE(group.rank() == group.size() - 1 || served->destroyed);
}

} // namespace
} // namespace uzushio::staging::queued
