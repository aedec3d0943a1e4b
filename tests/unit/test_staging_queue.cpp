#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "staging/queue/queue.hpp"

namespace uzushio::staging {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Much longer than every expected wait, also on a loaded machine.
constexpr auto long_enough = 60s;

QueueOptions options(QueuePolicy policy, std::size_t depth) {
    QueueOptions options;
    options.policy = policy;
    options.depth = depth;
    options.time_limit = long_enough;
    return options;
}

std::shared_ptr<void> step(int number) { return std::make_shared<int>(number); }
int number_of(const Delivery& delivery) { return *static_cast<int*>(delivery.payload.get()); }

/// Return the numbers of all available steps, and release them.
std::vector<int> take_all(QueueReader& reader) {
    std::vector<int> numbers;
    while (const Delivery delivery = reader.next(0s)) {
        numbers.push_back(number_of(delivery));
        EXPECT_TRUE(reader.release(delivery.sequence));
    }
    return numbers;
}

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

TEST(StagingQueue, DeliversStepsInOrderAndFreesThemOnRelease) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::block, 3));
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    std::vector<std::weak_ptr<void>> payloads;
    for (int i = 0; i < 3; ++i) {
        auto payload = step(i);
        payloads.push_back(payload);
        EXPECT_EQ(queue.publish(std::move(payload), 100), static_cast<std::uint64_t>(i));
    }
    EXPECT_EQ(queue.counters().bytes, 300u);
    for (int i = 0; i < 3; ++i) {
        auto delivery = reader.next(0s);
        ASSERT_TRUE(delivery);
        EXPECT_EQ(number_of(delivery), i);
        EXPECT_EQ(delivery.bytes, 100u);
        delivery.payload.reset();
        EXPECT_FALSE(payloads[static_cast<std::size_t>(i)].expired());
        EXPECT_TRUE(reader.release(delivery.sequence));
        EXPECT_FALSE(reader.release(delivery.sequence)) << "twice";
        EXPECT_EQ(payloads[static_cast<std::size_t>(i)].expired(), i < 2)
            << "the newest step is kept";
    }
    EXPECT_EQ(reader.next(0s).status, StepStatus::timeout);
    const auto counters = queue.counters();
    EXPECT_EQ(counters.published, 3u);
    EXPECT_EQ(counters.delivered, 3u);
    EXPECT_EQ(counters.dropped, 0u);
    EXPECT_EQ(counters.peak_bytes, 300u);
}

TEST(StagingQueue, NoPolicyWaitsForAReaderThatWantsTheNewestStepAlone) {
    for (const auto policy :
         {QueuePolicy::block, QueuePolicy::drop_newest, QueuePolicy::drop_oldest})
        for (const std::size_t depth : {1u, 3u}) {
            const auto owner = std::make_shared<Queue>(options(policy, depth));
            Queue& queue = *owner;
            QueueReader every = queue.attach();
            QueueReader newest = queue.attach();
            newest.set_latest_only(true);
            EXPECT_EQ(queue.max_steps(), depth + 1);
            const auto start = Clock::now();
            for (int i = 0; i < 10; ++i) {
                ASSERT_TRUE(queue.publish(step(i), 100)) << i;
                EXPECT_EQ(take_all(every), std::vector<int>{i});
            }
            const Delivery held = newest.next(0s);
            ASSERT_TRUE(held);
            EXPECT_EQ(number_of(held), 9);
            EXPECT_EQ(newest.missed(), 9u);
            for (int i = 10; i < 20; ++i) { // while it holds a step
                ASSERT_TRUE(queue.publish(step(i), 100)) << i;
                EXPECT_LE(queue.sequences().size(), depth + 1);
                EXPECT_EQ(take_all(every), std::vector<int>{i});
            }
            EXPECT_TRUE(newest.release(held.sequence));
            EXPECT_EQ(take_all(newest), std::vector<int>{19});
            EXPECT_EQ(every.missed(), 0u);
            EXPECT_EQ(queue.counters().seconds_waited, 0.0);
            EXPECT_LT(seconds_since(start), 30.0) << "no time limit has passed";
        }
}

TEST(StagingQueue, StepsBeforeAReaderSaysThatItWantsTheNewestAloneAreDroppedForIt) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::block, 3));
    QueueReader reader = owner->attach();
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(owner->publish(step(i), 100));
    reader.set_latest_only(true);
    EXPECT_EQ(reader.missed(), 2u);
    reader.set_latest_only(false);
    for (int i = 3; i < 5; ++i)
        ASSERT_TRUE(owner->publish(step(i), 100));
    EXPECT_EQ(take_all(reader), (std::vector<int>{2, 3, 4}));
}

TEST(StagingQueue, WithoutReadersTheSolverNeverWaitsAndNoStepIsDropped) {
    for (const auto policy : {QueuePolicy::block, QueuePolicy::drop_newest,
                              QueuePolicy::drop_oldest, QueuePolicy::latest_only}) {
        const auto owner = std::make_shared<Queue>(options(policy, 1));
        Queue& queue = *owner;
        for (int i = 0; i < 100; ++i)
            EXPECT_TRUE(queue.publish(step(i), 10));
        const auto counters = queue.counters();
        EXPECT_EQ(counters.published, 100u);
        EXPECT_EQ(counters.dropped, 0u);
        EXPECT_EQ(counters.seconds_waited, 0);
        EXPECT_EQ(counters.peak_bytes, 10u);
        EXPECT_EQ(counters.steps, 1u) << "the newest, for new readers";
    }
}

TEST(StagingQueue, ALateReaderStartsAtTheNewestStep) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::drop_oldest, 4));
    Queue& queue = *owner;
    QueueReader early = queue.attach();
    for (int i = 0; i < 4; ++i)
        queue.publish(step(i), 1);
    QueueReader late = queue.attach();
    queue.publish(step(4), 1);
    EXPECT_EQ(take_all(late), (std::vector<int>{3, 4}));
    EXPECT_EQ(take_all(early), (std::vector<int>{1, 2, 3, 4}));
    EXPECT_EQ(late.missed(), 0u);
    EXPECT_EQ(early.missed(), 1u);
}

TEST(StagingQueue, KeepsNoStepForLateReadersWithoutKeepNewest) {
    auto no_keep = options(QueuePolicy::block, 2);
    no_keep.keep_newest = false;
    const auto owner = std::make_shared<Queue>(no_keep);
    Queue& queue = *owner;
    std::weak_ptr<void> seen;
    {
        auto payload = step(0);
        seen = payload;
        queue.publish(std::move(payload), 1);
    }
    EXPECT_TRUE(seen.expired());
    QueueReader slow = queue.attach();
    queue.publish(step(1), 1);
    ASSERT_TRUE(slow.next(0s)); // holds step 1
    QueueReader fast = queue.attach();
    queue.publish(step(2), 1);
    EXPECT_EQ(take_all(fast), (std::vector<int>{1, 2}));
    EXPECT_EQ(take_all(slow), (std::vector<int>{2})); // no reader holds step 2
    QueueReader late = queue.attach();
    EXPECT_TRUE(take_all(late).empty()) << "step 1 is still held, but it is not the newest";
}

TEST(StagingQueue, CommandsWithoutSentRepliesAreLimitedForEachReader) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::block, 1));
    QueueReader one = owner->attach();
    QueueReader other = owner->attach();
    for (std::uint64_t n = 0; n < CommandMailbox::max_commands; ++n)
        EXPECT_TRUE(one.send({n, "x"}));
    EXPECT_FALSE(one.send({99, "x"}));
    EXPECT_TRUE(other.send({1, "y"}));
    const auto commands = owner->take_commands();
    ASSERT_EQ(commands.size(), CommandMailbox::max_commands + 1);
    EXPECT_FALSE(one.send({99, "x"})) << "taken, but without a reply";
    owner->reply(commands[0].reader, {0, "done"});
    EXPECT_FALSE(one.send({99, "x"})) << "the reply was not sent";
    EXPECT_EQ(one.next_reply(), (Reply{0, "done"}));
    EXPECT_EQ(one.next_reply(), std::nullopt);
    EXPECT_TRUE(one.send({99, "x"}));
    EXPECT_TRUE(other.send({2, "z"}));
    other.detach();
    const auto later = owner->take_commands();
    ASSERT_EQ(later.size(), 2u);
    EXPECT_EQ(later[0].command.number, 99u);
    EXPECT_TRUE(later[1].left);
    owner->reply(later[1].reader, {2, "no reader gets this"});
    EXPECT_EQ(other.next_reply(), std::nullopt);
}

TEST(StagingQueue, DropNewestRefusesUntilThereIsSpace) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::drop_newest, 2));
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    EXPECT_TRUE(queue.publish(step(0), 1));
    EXPECT_TRUE(queue.publish(step(1), 1));
    EXPECT_FALSE(queue.publish(step(2), 1));
    EXPECT_EQ(take_all(reader), (std::vector<int>{0, 1}));
    EXPECT_TRUE(queue.publish(step(3), 1));
    EXPECT_EQ(take_all(reader), (std::vector<int>{3}));
    EXPECT_EQ(queue.counters().dropped, 1u);
    EXPECT_EQ(reader.missed(), 1u);
}

TEST(StagingQueue, DropOldestDropsTheOldestStepThatNoReaderHolds) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::drop_oldest, 3));
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    queue.publish(step(0), 1);
    const Delivery held = reader.next(0s);
    for (int i = 1; i < 6; ++i)
        EXPECT_TRUE(queue.publish(step(i), 1));
    EXPECT_EQ(number_of(held), 0) << "a held step is kept";
    EXPECT_EQ(take_all(reader), (std::vector<int>{4, 5}));
    EXPECT_TRUE(reader.release(held.sequence));
    EXPECT_EQ(queue.counters().dropped, 3u);
    EXPECT_EQ(reader.missed(), 3u);
}

TEST(StagingQueue, DropOldestRefusesTheNewOneIfReadersHoldAll) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::drop_oldest, 1));
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    queue.publish(step(0), 1);
    const Delivery held = reader.next(0s);
    EXPECT_FALSE(queue.publish(step(1), 1));
    EXPECT_TRUE(reader.release(held.sequence));
    EXPECT_TRUE(queue.publish(step(2), 1));
    EXPECT_EQ(take_all(reader), (std::vector<int>{2}));
    EXPECT_EQ(queue.counters().dropped, 1u);
}

TEST(StagingQueue, LatestOnlyDeliversTheNewestStepOnly) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::latest_only, 3));
    Queue& queue = *owner;
    QueueReader slow = queue.attach();
    QueueReader fast = queue.attach();
    queue.publish(step(0), 1);
    const Delivery held = slow.next(0s);
    EXPECT_EQ(take_all(fast), (std::vector<int>{0}));
    for (int i = 1; i < 8; ++i) {
        EXPECT_TRUE(queue.publish(step(i), 1));
        if (i % 2 == 0) {
            EXPECT_EQ(take_all(fast), (std::vector<int>{i}));
        }
    }
    EXPECT_TRUE(slow.release(held.sequence));
    EXPECT_EQ(take_all(slow), (std::vector<int>{7}));
    EXPECT_EQ(slow.missed(), 6u);
    EXPECT_EQ(fast.missed(), 3u);
    EXPECT_EQ(queue.counters().dropped, 6u) << "steps, each counted once";
}

TEST(StagingQueue, LatestOnlyAcceptsTheNewestStepForAnyHeldSteps) {
    for (const std::size_t readers : {2u, 3u}) {
        const auto owner = std::make_shared<Queue>(options(QueuePolicy::latest_only, 2));
        Queue& queue = *owner;
        std::vector<QueueReader> all;
        std::vector<std::uint64_t> held;
        int number = 0;
        for (std::size_t i = 0; i < readers; ++i) { // each takes a different step, and holds it
            all.push_back(queue.attach());
            ASSERT_TRUE(queue.publish(step(++number), 10));
            const Delivery delivery = all.back().next(0s);
            ASSERT_EQ(number_of(delivery), number);
            held.push_back(delivery.sequence);
        }
        for (int more = 0; more < 7; ++more)
            EXPECT_TRUE(queue.publish(step(++number), 10)) << number;
        EXPECT_EQ(queue.counters().steps, readers + 1) << "held steps, and the newest";
        EXPECT_EQ(queue.max_steps(), readers + 1);
        for (std::size_t i = 0; i < readers; ++i) {
            ASSERT_TRUE(all[i].release(held[i]));
            EXPECT_EQ(take_all(all[i]), (std::vector<int>{number}));
        }
        EXPECT_EQ(queue.counters().steps, 1u);
        all.clear();
        EXPECT_EQ(queue.max_steps(), 2u);
    }
}

TEST(StagingQueue, LatestOnlyStaysWithinItsBytesAndBoundsOneReadersSteps) {
    auto few = options(QueuePolicy::latest_only, 2);
    few.bytes = 25;
    const auto narrow_owner = std::make_shared<Queue>(few);
    Queue& narrow = *narrow_owner;
    QueueReader a = narrow.attach(), b = narrow.attach();
    ASSERT_TRUE(narrow.publish(step(0), 10));
    ASSERT_TRUE(a.next(0s));
    ASSERT_TRUE(narrow.publish(step(1), 10));
    ASSERT_TRUE(b.next(0s));
    EXPECT_FALSE(narrow.publish(step(2), 10)) << "30 bytes";

    const auto owner = std::make_shared<Queue>(options(QueuePolicy::latest_only, 2));
    Queue& queue = *owner;
    QueueReader hoarder = queue.attach();
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(queue.publish(step(i), 10));
        ASSERT_TRUE(hoarder.next(0s));
    }
    EXPECT_FALSE(queue.publish(step(2), 10));
}

TEST(StagingQueue, BytesAreASeparateLimit) {
    auto few_bytes = options(QueuePolicy::drop_oldest, 100);
    few_bytes.bytes = 1000;
    const auto owner = std::make_shared<Queue>(few_bytes);
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(queue.publish(step(i), 400));
    EXPECT_EQ(queue.counters().bytes, 800u);
    EXPECT_TRUE(queue.publish(step(10), 1000));
    EXPECT_EQ(take_all(reader), (std::vector<int>{10}));
    EXPECT_EQ(queue.counters().peak_bytes, 1000u);
    EXPECT_THROW(queue.publish(step(11), 1001), std::invalid_argument) << "never fits";
}

TEST(StagingQueue, BlockWaitsForARelease) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::block, 1));
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    queue.publish(step(0), 1);
    std::thread slow([&] {
        const Delivery delivery = reader.next(long_enough);
        std::this_thread::sleep_for(50ms);
        reader.release(delivery.sequence);
    });
    const auto start = Clock::now();
    EXPECT_TRUE(queue.publish(step(1), 1));
    EXPECT_GE(seconds_since(start), 0.04);
    EXPECT_LT(seconds_since(start), 50);
    slow.join();
    const auto counters = queue.counters();
    EXPECT_GE(counters.seconds_waited, 0.04);
    EXPECT_EQ(counters.dropped, 0u);
    EXPECT_EQ(counters.peak_bytes, 1u);
}

TEST(StagingQueue, BlockDropsAfterItsTimeLimitAndWaitsOnceForAStoppedReader) {
    auto limited = options(QueuePolicy::block, 1);
    limited.time_limit = 100ms;
    const auto owner = std::make_shared<Queue>(limited);
    Queue& queue = *owner;
    QueueReader stopped = queue.attach();
    queue.publish(step(0), 1);
    const Delivery held = stopped.next(0s);

    auto start = Clock::now();
    EXPECT_FALSE(queue.publish(step(1), 1));
    EXPECT_GE(seconds_since(start), 0.1);
    EXPECT_TRUE(stopped.stalled());
    const double waited = queue.counters().seconds_waited;
    EXPECT_GE(waited, 0.1);

    start = Clock::now();
    for (int i = 2; i < 52; ++i)
        EXPECT_FALSE(queue.publish(step(i), 1));
    EXPECT_LT(queue.counters().seconds_waited - waited, 2.0) << "not 50 times 0.1 s";
    EXPECT_EQ(queue.counters().dropped, 51u);

    // The reader continues.
    EXPECT_TRUE(stopped.release(held.sequence));
    EXPECT_FALSE(stopped.stalled());
    EXPECT_TRUE(queue.publish(step(52), 1));
    EXPECT_EQ(take_all(stopped), (std::vector<int>{52}));
}

TEST(StagingQueue, WhenAllReadersHaveStalledNewStepsAreRefusedAndOldOnesKept) {
    for (const auto policy : {QueuePolicy::block, QueuePolicy::drop_newest}) {
        auto limited = options(policy, 3);
        limited.time_limit = 30ms;
        const auto owner = std::make_shared<Queue>(limited);
        Queue& queue = *owner;
        QueueReader slow = queue.attach();
        queue.publish(step(0), 1);
        const Delivery held = slow.next(0s);
        EXPECT_TRUE(queue.publish(step(1), 1));
        EXPECT_TRUE(queue.publish(step(2), 1));
        if (policy == QueuePolicy::drop_newest)
            std::this_thread::sleep_for(40ms);
        int refused = 0;
        for (int i = 3; i < 30; ++i)
            refused += queue.publish(step(i), 1) ? 0 : 1;
        EXPECT_EQ(refused, 27) << "publish returns false for each";
        EXPECT_EQ(queue.counters().dropped, 27u);
        EXPECT_LT(queue.counters().seconds_waited, 0.5) << "one wait, not one per step";
        EXPECT_TRUE(slow.release(held.sequence));
        EXPECT_EQ(take_all(slow), (std::vector<int>{1, 2})) << "accepted steps are kept";
        EXPECT_TRUE(queue.publish(step(30), 1));
        EXPECT_EQ(take_all(slow), (std::vector<int>{30}));
        EXPECT_EQ(slow.delivered() + slow.missed(), 31u);
    }
}

TEST(StagingQueue, AStoppedReaderDoesNotDelayOthersAfterTheLimit) {
    auto limited = options(QueuePolicy::block, 2);
    limited.time_limit = 50ms;
    const auto owner = std::make_shared<Queue>(limited);
    Queue& queue = *owner;
    QueueReader stopped = queue.attach();
    QueueReader alive = queue.attach();
    queue.publish(step(0), 1);
    const Delivery held = stopped.next(0s);
    EXPECT_EQ(take_all(alive), (std::vector<int>{0}));
    queue.publish(step(1), 1);
    EXPECT_EQ(take_all(alive), (std::vector<int>{1}));
    // Both places are taken: step 0 is held, and step 1 due to the stopped reader.
    for (int i = 2; i < 30; ++i) {
        EXPECT_TRUE(queue.publish(step(i), 1));
        EXPECT_EQ(take_all(alive), (std::vector<int>{i}));
    }
    EXPECT_EQ(alive.missed(), 0u);
    EXPECT_GE(stopped.missed(), 28u);
    EXPECT_LT(queue.counters().seconds_waited, 1.4) << "one wait, not one per step";
}

TEST(StagingQueue, DropNewestLimitsTheTimeThatAStoppedReaderBlocksOthers) {
    auto limited = options(QueuePolicy::drop_newest, 3);
    limited.time_limit = 50ms;
    const auto owner = std::make_shared<Queue>(limited);
    Queue& queue = *owner;
    QueueReader stopped = queue.attach();
    QueueReader alive = queue.attach();
    queue.publish(step(0), 1);
    const Delivery held = stopped.next(0s);
    EXPECT_EQ(take_all(alive), (std::vector<int>{0}));
    for (int i = 1; i < 3; ++i) {
        EXPECT_TRUE(queue.publish(step(i), 1));
        EXPECT_EQ(take_all(alive), (std::vector<int>{i}));
    }
    std::this_thread::sleep_for(60ms);
    for (int i = 3; i < 10; ++i) {
        EXPECT_TRUE(queue.publish(step(i), 1));
        EXPECT_EQ(take_all(alive), (std::vector<int>{i}));
    }
    EXPECT_TRUE(stopped.stalled());
    EXPECT_EQ(queue.counters().seconds_waited, 0.0);
    EXPECT_TRUE(stopped.release(held.sequence)) << "a held step is never removed";
    EXPECT_EQ(take_all(stopped).back(), 9) << "a continued reader gets the newest step";
}

TEST(StagingQueue, BlockFailsAfterItsTimeLimitWithOnTimeoutFail) {
    auto failing = options(QueuePolicy::block, 1);
    failing.time_limit = 20ms;
    failing.on_timeout = OnTimeout::fail;
    const auto owner = std::make_shared<Queue>(failing);
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    queue.publish(step(0), 1);
    EXPECT_THROW(queue.publish(step(1), 1), QueueTimeout);
    EXPECT_EQ(take_all(reader), (std::vector<int>{0})) << "queued steps are not lost";
    EXPECT_TRUE(queue.publish(step(2), 1));
    EXPECT_EQ(reader.missed(), 1u);
    EXPECT_EQ(queue.counters().dropped, 1u);
}

TEST(StagingQueue, ADestroyedReaderReleasesItsStepsAndWakesTheSolver) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::block, 2));
    Queue& queue = *owner;
    auto reader = std::make_unique<QueueReader>(queue.attach());
    queue.publish(step(0), 1);
    queue.publish(step(1), 1);
    ASSERT_TRUE(reader->next(0s));
    std::thread end([&] {
        std::this_thread::sleep_for(20ms);
        reader.reset();
    });
    EXPECT_TRUE(queue.publish(step(2), 1));
    EXPECT_TRUE(queue.publish(step(3), 1));
    end.join();
    EXPECT_EQ(queue.readers(), 0u);
    EXPECT_EQ(queue.counters().dropped, 0u) << "no reader is left to miss a step";
    EXPECT_TRUE(queue.drain(0s));
}

TEST(StagingQueue, DetachWakesAReaderThatWaits) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::block, 1));
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    std::thread other([&] {
        std::this_thread::sleep_for(20ms);
        reader.detach();
    });
    EXPECT_EQ(reader.next(long_enough).status, StepStatus::detached);
    other.join();
    EXPECT_EQ(reader.next(0s).status, StepStatus::detached);
    EXPECT_FALSE(reader.release(0));
}

TEST(StagingQueue, AReadersWaitEndsAtItsLimit) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::block, 1));
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    const auto start = Clock::now();
    EXPECT_EQ(reader.next(30ms).status, StepStatus::timeout);
    EXPECT_GE(seconds_since(start), 0.03);
    std::thread solver([&] {
        std::this_thread::sleep_for(20ms);
        queue.publish(step(0), 1);
    });
    EXPECT_TRUE(reader.next(std::chrono::nanoseconds::max()))
        << "the maximum limit does not overflow";
    solver.join();
}

TEST(StagingQueue, CloseLetsReadersFinishAndStopsWriters) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::block, 2));
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    queue.publish(step(0), 1);
    queue.close();
    EXPECT_THROW(queue.publish(step(1), 1), std::logic_error);
    EXPECT_FALSE(queue.drain(1ms));
    const Delivery last = reader.next(0s);
    EXPECT_EQ(number_of(last), 0);
    EXPECT_EQ(reader.next(long_enough).status, StepStatus::ended);
    reader.release(last.sequence);
    EXPECT_TRUE(queue.drain(0s));
}

TEST(StagingQueue, CloseWakesAWriterThatWaits) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::block, 1));
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    queue.publish(step(0), 1);
    std::thread other([&] {
        std::this_thread::sleep_for(20ms);
        queue.close();
    });
    EXPECT_FALSE(queue.publish(step(1), 1));
    other.join();
}

TEST(StagingQueue, ReadersMayOutliveTheQueue) {
    auto queue = std::make_shared<Queue>(options(QueuePolicy::block, 1));
    QueueReader reader = queue->attach();
    queue->publish(step(5), 1);
    queue->close();
    queue.reset();
    EXPECT_EQ(take_all(reader), (std::vector<int>{5}));
    EXPECT_EQ(reader.next(long_enough).status, StepStatus::ended);
}

TEST(StagingQueue, SpaceIsReservedBeforeTheStepIsWritten) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::drop_newest, 1));
    Queue& queue = *owner;
    QueueReader reader = queue.attach();
    ASSERT_TRUE(queue.reserve(8));
    EXPECT_EQ(queue.counters().bytes, 8u);
    EXPECT_FALSE(queue.reserve(8)) << "the queue is full";
    EXPECT_EQ(reader.next(0s).status, StepStatus::timeout) << "a reserved step is not visible";
    EXPECT_EQ(queue.commit(step(0), 8), 0u);
    EXPECT_EQ(take_all(reader), (std::vector<int>{0}));
    ASSERT_TRUE(queue.reserve(8));
    queue.cancel(8);
    const auto counters = queue.counters();
    EXPECT_EQ(counters.bytes, 0u);
    EXPECT_EQ(counters.published, 2u) << "one refused, one committed";
}

TEST(StagingQueue, APayloadsDestructorMayUseTheQueue) {
    const auto owner = std::make_shared<Queue>(options(QueuePolicy::latest_only, 2));
    Queue& queue = *owner;
    int destroyed = 0;
    for (int i = 0; i < 5; ++i)
        queue.publish(
            std::shared_ptr<void>(nullptr,
                                  [&](void*) {
                                      (void)queue.counters(); // deadlocks if called under the lock
                                      ++destroyed;
                                  }),
            1);
    EXPECT_EQ(destroyed, 4);
    queue.publish(step(5), 1); // the last one is destroyed before the queue
    EXPECT_EQ(destroyed, 5);
}

TEST(StagingQueue, RefusesOptionsThatAllowNoStep) {
    EXPECT_THROW(Queue(options(QueuePolicy::block, 0)), std::invalid_argument);
    auto no_bytes = options(QueuePolicy::block, 1);
    no_bytes.bytes = 0;
    EXPECT_THROW(Queue{no_bytes}, std::invalid_argument);
    auto negative = options(QueuePolicy::block, 1);
    negative.time_limit = -1s;
    EXPECT_THROW(Queue{negative}, std::invalid_argument);
}

/// Counters of a reader.
struct ReaderCounts {
    std::uint64_t delivered = 0, missed = 0, first = 0, last = 0;
    bool in_order = true;
    StepStatus end = StepStatus::timeout;
};

ReaderCounts read_all_steps(QueueReader reader, std::chrono::microseconds pace,
                            std::atomic<int>& torn) {
    ReaderCounts counts;
    for (;;) {
        const Delivery delivery = reader.next(long_enough);
        if (!delivery) {
            counts.end = delivery.status;
            counts.missed = reader.missed();
            EXPECT_EQ(reader.delivered(), counts.delivered);
            return counts;
        }
        if (counts.delivered == 0)
            counts.first = delivery.sequence;
        else if (delivery.sequence <= counts.last)
            counts.in_order = false;
        counts.last = delivery.sequence;
        ++counts.delivered;
        const auto& numbers = *static_cast<std::vector<std::uint64_t>*>(delivery.payload.get());
        if (pace > 0us)
            std::this_thread::sleep_for(pace);
        for (const auto number : numbers)
            torn += number != numbers.front() ? 1 : 0;
        reader.release(delivery.sequence);
    }
}

void run_many(QueuePolicy policy) {
    // Given a solver that reuses a few buffers, and readers of different speed from the start on.
    constexpr int steps = 300, count = 4;
    // A buffer returns to the pool when the queue releases it, and is then written again.
    std::mutex mutex;
    std::vector<std::unique_ptr<std::vector<std::uint64_t>>> pool;
    const auto owner = std::make_shared<Queue>(options(policy, 6));
    Queue& queue = *owner;
    std::atomic<int> torn{0};
    std::vector<QueueReader> readers;
    for (int r = 0; r < count; ++r)
        readers.push_back(queue.attach());
    std::vector<ReaderCounts> all_counts(count);
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < count; ++r)
        threads.emplace_back([&, r, reader = std::move(readers[r])]() mutable {
            all_counts[r] =
                read_all_steps(std::move(reader), std::chrono::microseconds(200 * r), torn);
        });
    // Other readers attach and detach, some without releasing steps.
    std::atomic<bool> running{true};
    std::atomic<int> visits{0};
    threads.emplace_back([&] {
        std::mt19937 random(7);
        while (running) {
            QueueReader guest = queue.attach();
            for (auto n = random() % 3; n > 0; --n) {
                const Delivery delivery = guest.next(1ms);
                if (delivery && random() % 2 == 0)
                    guest.release(delivery.sequence);
            }
            ++visits;
        }
    });
    for (std::uint64_t i = 0; i < steps; ++i) {
        if (i % 4 == 0)
            std::this_thread::sleep_for(100us); // a solver computes between steps
        std::unique_ptr<std::vector<std::uint64_t>> buffer;
        {
            const std::lock_guard lock(mutex);
            if (!pool.empty()) {
                buffer = std::move(pool.back());
                pool.pop_back();
            }
        }
        if (!buffer)
            buffer = std::make_unique<std::vector<std::uint64_t>>(512);
        for (auto& number : *buffer)
            number = i;
        auto* memory = buffer.release();
        queue.publish(std::shared_ptr<void>(memory,
                                            [&](void* p) {
                                                const std::lock_guard lock(mutex);
                                                pool.emplace_back(
                                                    static_cast<std::vector<std::uint64_t>*>(p));
                                            }),
                      memory->size() * 8);
    }
    running = false;
    queue.close();
    for (auto& thread : threads)
        thread.join();

    EXPECT_EQ(torn, 0);
    EXPECT_GT(visits, 0);
    EXPECT_TRUE(queue.drain(0s)) << "no reader holds a step";
    const auto counters = queue.counters();
    EXPECT_EQ(counters.published, static_cast<std::uint64_t>(steps));
    EXPECT_LE(counters.peak_bytes, 6u * 512 * 8);
    for (const ReaderCounts& counts : all_counts) {
        EXPECT_TRUE(counts.in_order);
        EXPECT_EQ(counts.end, StepStatus::ended);
        EXPECT_EQ(counts.delivered + counts.missed, static_cast<std::uint64_t>(steps));
        if (policy == QueuePolicy::block) {
            EXPECT_EQ(counts.missed, 0u);
        }
    }
    if (policy == QueuePolicy::block) {
        EXPECT_EQ(counters.dropped, 0u);
    }
}

TEST(StagingQueueThreads, BlockLosesNothing) { run_many(QueuePolicy::block); }
TEST(StagingQueueThreads, DropNewestAccountsForEveryStep) { run_many(QueuePolicy::drop_newest); }
TEST(StagingQueueThreads, DropOldestAccountsForEveryStep) { run_many(QueuePolicy::drop_oldest); }
TEST(StagingQueueThreads, LatestOnlyAccountsForEveryStep) { run_many(QueuePolicy::latest_only); }

} // namespace
} // namespace uzushio::staging
