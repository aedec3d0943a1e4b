// ranks: 2 4
// A rank that aborts, or is interrupted: the other ranks are notified, and none waits.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "parallel/wait_hook.hpp"
#include "staging/interrupt.hpp"
#include "staging/reader.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/step_source.hpp"
#include "staging/writer.hpp"

namespace uzushio::staging {
namespace {

using Clock = std::chrono::steady_clock;

/// Much longer than a notice needs, and shorter than the test's timeout.
constexpr std::chrono::seconds timeout{90};

/// Group for synchronisation between tests; no test aborts it.
const parallel::CollectiveGroup& world() {
    static const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    return group;
}

bool is_last() { return world().rank() == world().size() - 1; }
std::string last() { return "Rank " + std::to_string(world().size() - 1); }

/// Return the text of the error of `work`, which must not take long.
std::string thrown_by(const std::function<void()>& work) {
    const auto start = Clock::now();
    std::string text = "nothing";
    try {
        work();
    } catch (const StagingError& error) {
        text = error.what();
    }
    EXPECT_LT(Clock::now() - start, timeout);
    return text;
}

/// Source without steps; its stream ends after `waits` waits.
class EmptySource : public StepSource {
  public:
    explicit EmptySource(int waits) : waits_(waits) {}
    AnnouncedStep next(std::chrono::nanoseconds limit) override {
        const auto end = Clock::now() + limit;
        while (Clock::now() < end) {
            parallel::run_wait_hooks();
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return {--waits_ < 0 ? StepStatus::ended : StepStatus::timeout, nullptr};
    }
    void fetch(const Announce&, std::span<const Fetch>, std::chrono::nanoseconds) override {}
    void release(std::uint64_t) override {}

  private:
    int waits_;
};

Reader make_reader(int waits) { return {std::make_unique<EmptySource>(waits), MPI_COMM_WORLD}; }

TEST(StagingAbort, WaitsForAnAbortedRankThrowItsReason) {
    for (int place = 0; place < 5; ++place) {
        const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD, "this crew");
        group.barrier();
        const std::string text = thrown_by([&] {
            if (is_last()) {
                group.abort(std::make_exception_ptr(PeerGone("The well is dry.")));
                return;
            }
            // A broadcast may complete on some ranks before they need the aborted one.
            switch (place) {
            case 0:
                group.barrier();
                break;
            case 1:
                (void)group.max(1);
                break;
            case 2:
                group.agree(std::optional<std::string>());
                break;
            case 3:
                for (;;)
                    (void)group.gather({});
            default:
                group.run_collectively([] {});
            }
        });
        EXPECT_EQ(text,
                  is_last() ? "nothing" : last() + " of this crew has aborted: The well is dry.");
        EXPECT_EQ(thrown_by([&] { group.barrier(); }),
                  is_last() ? "This rank has aborted: The well is dry." : text)
            << "as do all later calls";
    }
    world().barrier();
}

TEST(StagingAbort, AnErrorKeepsItsType) {
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    if (is_last())
        group.abort(std::make_exception_ptr(PeerSilent("It sleeps.")));
    else
        EXPECT_THROW(group.barrier(), PeerSilent);
    world().barrier();
}

TEST(StagingAbort, CollectivesCompletedBeforeAnAbortSucceed) {
    for (int round = 0; round < 5; ++round) {
        const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
        EXPECT_EQ(group.max(static_cast<std::uint64_t>(group.rank())),
                  static_cast<std::uint64_t>(group.size() - 1));
        const std::vector<std::byte> sent(5, std::byte{7});
        EXPECT_EQ(group.broadcast(group.rank() == 0 ? sent : std::vector<std::byte>()), sent);
        if (is_last())
            group.abort(std::make_exception_ptr(StagingError("It is late.")));
        else
            EXPECT_NE(thrown_by([&] { group.barrier(); }).find("It is late."), std::string::npos);
    }
    world().barrier();
}

TEST(StagingAbort, LongWorkOfOneRankEndsWhenAnotherAborts) {
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    const std::string text = thrown_by([&] {
        if (is_last())
            group.abort(std::make_exception_ptr(StagingError("It is late.")));
        else
            group.run_collectively([&] {
                while (group.rank() == 0) {
                    parallel::run_wait_hooks();
                    std::this_thread::sleep_for(std::chrono::milliseconds(2));
                }
            });
    });
    EXPECT_EQ(text, is_last() ? "nothing" : last() + " of this stream has aborted: It is late.");
    world().barrier();
}

TEST(StagingAbort, AnInterruptEndsAWaitForOtherRanksAndNotifiesThem) {
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD, "this crew");
    const auto start = Clock::now();
    std::string text;
    if (is_last()) {
        const InterruptScope scope([] { return true; });
        EXPECT_THROW(group.barrier(), Interrupted);
        EXPECT_LT(Clock::now() - start, timeout);
        world().barrier();
    } else {
        world().barrier();
        text = thrown_by([&] {
            for (;;) // the first one may succeed on all ranks
                group.barrier();
        });
        EXPECT_EQ(text, last() + " of this crew has aborted: The wait was interrupted.");
    }
    world().barrier();
}

TEST(StagingAbort, IfAllRanksAreInterruptedTheGroupRemainsUsable) {
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    const std::string text = thrown_by([&] {
        const InterruptScope scope([] { return true; });
        group.run_collectively([&] {
            while (group.rank() == 0) {
                parallel::run_wait_hooks();
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
        });
    });
    EXPECT_EQ(text, "The wait was interrupted.");
    group.barrier();
    world().barrier();
}

TEST(StagingAbort, AReadersRankThatFailsAloneEndsTheOthersInNext) {
    const std::string text = thrown_by([&] {
        Reader reader = make_reader(1 << 30);
        EXPECT_EQ(reader.next(std::chrono::milliseconds(1)), StepStatus::timeout);
        if (is_last())
            throw StagingError("my own");
        for (;;)
            (void)reader.next(timeout);
    });
    EXPECT_EQ(text, is_last()
                        ? "my own"
                        : last() + " of this reader has aborted: it failed, or ended its reader "
                                   "alone; all have to detach together.");
    world().barrier();
}

TEST(StagingAbort, AReadersRankAbortsWithAReason) {
    Reader reader = make_reader(1 << 30);
    const std::string text = thrown_by([&] {
        if (is_last())
            reader.abort(std::make_exception_ptr(StagingError("The disk is full.")));
        else
            (void)reader.next(timeout);
    });
    EXPECT_EQ(text,
              is_last() ? "nothing" : last() + " of this reader has aborted: The disk is full.");
    EXPECT_EQ(thrown_by([&] { reader.detach(); }), "nothing");
    world().barrier();
}

TEST(StagingAbort, ReadersEndOneByOneAfterTheStreamHasEndedOrTheyHaveDetached) {
    for (int round = 0; round < 20; ++round) {
        {
            Reader ended = make_reader(0);
            EXPECT_EQ(ended.next(std::chrono::milliseconds(0)), StepStatus::ended);
            Reader detached = make_reader(1 << 30);
            EXPECT_EQ(detached.next(std::chrono::milliseconds(0)), StepStatus::timeout);
            detached.detach();
            EXPECT_EQ(detached.next(std::chrono::milliseconds(0)), StepStatus::detached);
        }
        EXPECT_EQ(world().max(1), 1u);
    }
}

TEST(StagingAbort, ReadersRanksInDifferentMembersThrow) {
    Reader reader = make_reader(1 << 30);
    const std::string text = thrown_by([&] {
        if (is_last())
            reader.detach();
        else
            (void)reader.next(timeout);
    });
    EXPECT_EQ(text, is_last() ? "nothing"
                              : "Some ranks of this reader called next while others called detach: "
                                "all ranks must call the same member, and detach together.");
    world().barrier();
}

TEST(StagingAbort, AStepThatOneRankKeepsIsReleasedByNone) {
    Reader reader = make_reader(0);
    if (is_last())
        reader.keep_step("It is framed on the wall.");
    EXPECT_EQ(thrown_by([&] { (void)reader.next(timeout); }), "It is framed on the wall.");
    reader.keep_step({});
    EXPECT_EQ(reader.next(std::chrono::milliseconds(0)), StepStatus::ended);
    world().barrier();
}

TEST(StagingAbort, AWritersRankThatFailsAloneEndsTheOthersInEndStep) {
    for (const bool abandons : {false, true}) {
        const std::string text = thrown_by([&] {
            EngineOptions options;
            options.engine = "tcp";
            options.contact = "leaving.contact";
            Writer writer("leaving", MPI_COMM_WORLD, options);
            writer.begin_step(0, 0.0);
            writer.end_step();
            if (is_last() && abandons) {
                writer.abandon("The solver has diverged.");
                return;
            }
            if (is_last())
                throw StagingError("my own");
            writer.begin_step(1, 0.1);
            writer.end_step();
        });
        if (is_last())
            EXPECT_EQ(text, abandons ? "nothing" : "my own");
        else
            EXPECT_EQ(text, last() + " of this writer has aborted: " +
                                (abandons ? "The solver has diverged."
                                          : "it failed, or ended its writer without closing it."));
        world().barrier();
    }
}

} // namespace
} // namespace uzushio::staging
