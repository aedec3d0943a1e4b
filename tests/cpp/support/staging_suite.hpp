#pragma once

// What every staging engine must do. An engine's test says how its writers and readers are opened:
//
//     // ranks: 1 2 4
//     #include "support/staging_suite.hpp"
//
//     namespace uzushio::staging::suite {
//     INSTANTIATE_TEST_SUITE_P(Engines, StagingSuite,
//                              testing::Values(by_contact("tcp"), by_contact("shm")), name_of);
//     }
//
// and may fill a Carrier itself where more is needed than the engine's name. Every test is run by
// all ranks of the job: some write, the others read; on one rank two threads do, each alone and
// without MPI. A new test in here is a new test of every engine: it may use Carrier, run_both,
// World, WriterActor and ReaderActor, and must not know which engine it is.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "parallel/backoff.hpp"
#include "staging/reader.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/writer.hpp"
#include "support/staging_checking.hpp"
#include "support/staging_sides.hpp"
#include "support/staging_world.hpp"
#include "support/staging_writing.hpp"

namespace uzushio::staging::suite {

/// An engine under test.
struct Carrier {
    std::string name; ///< letters and digits, unique in the test file

    /// `options` hold queue, limits, checksums, and a contact file that is this stream's alone, in
    /// a folder that is removed after the test: set the engine, and what it needs.
    std::function<Writer(const std::string& stream, MPI_Comm comm, EngineOptions options)> write;
    /// Attach to that stream; `contact` is the file in the writer's options. Readers often come
    /// before the writer does. Not set: there are no readers but the work given to on_step.
    std::function<Reader(const std::string& stream, const std::string& contact, MPI_Comm comm)>
        read;

    Expected expected;   ///< what readers can expect of it
    bool threads = true; ///< writer and reader can be two threads of a process without MPI
    bool live = true;    ///< readers come and go while the writer runs; else they get every step
    std::uint64_t worlds = 12; ///< how many random ones
};

inline std::string name_of(const testing::TestParamInfo<Carrier>& info) { return info.param.name; }

/// An engine whose readers find the writer by its contact file.
inline Carrier by_contact(const std::string& engine) {
    Carrier carrier;
    carrier.name = engine;
    carrier.write = [engine](const std::string& stream, MPI_Comm comm, EngineOptions options) {
        options.engine = engine;
        return Writer(stream, comm, options);
    };
    carrier.read = [](const std::string&, const std::string& contact, MPI_Comm comm) {
        return Reader(contact, comm);
    };
    return carrier;
}

class StagingSuite : public testing::TestWithParam<Carrier> {
  public:
    static constexpr std::chrono::seconds limit{30}; ///< of every wait

  protected:
    static void SetUpTestSuite() { folder_ = std::make_unique<Folder>(); }
    static void TearDownTestSuite() { folder_ = nullptr; }

    void SetUp() override {
        if (carrier().read && !carrier().threads && world_size() == 1)
            GTEST_SKIP() << "needs ranks for either side";
    }

    [[nodiscard]] static const Carrier& carrier() { return GetParam(); }

    /// A name that no other stream of the job has; the same on all ranks.
    [[nodiscard]] static std::string new_stream() {
        return carrier().name + std::to_string(++streams_);
    }
    [[nodiscard]] static std::filesystem::path contact_of(const std::string& stream) {
        return folder_->path() / (stream + ".contact");
    }
    /// Every step reaches every reader, or the writer fails.
    [[nodiscard]] static EngineOptions lossless(const std::string& stream) {
        EngineOptions options;
        options.contact = contact_of(stream);
        options.file.folder = folder_->path() / (stream + ".zarr");
        options.queue.policy = QueuePolicy::block;
        options.queue.time_limit = limit;
        options.queue.on_timeout = OnTimeout::fail;
        options.wait_for_readers = 1;
        options.wait_limit = limit;
        options.close_limit = limit;
        return options;
    }
    [[nodiscard]] static Reader open_reader(const std::string& stream, const Side& side) {
        return carrier().read(stream, contact_of(stream).string(), side.comm);
    }
    /// How many ranks of the job write, by a number that all ranks draw alike.
    [[nodiscard]] static int writers_of(std::uint64_t seed) {
        const int ranks = world_size();
        if (!carrier().read || ranks == 1)
            return ranks;
        return 1 + static_cast<int>(seed % static_cast<std::uint64_t>(ranks - 1));
    }

  private:
    inline static std::unique_ptr<Folder> folder_;
    inline static int streams_ = 0;
};

namespace detail {

/// Publish all steps of a world, and close.
inline void publish_all(Writer writer, const World& world, const Side& side) {
    WriterActor actor(writer, world, side.rank);
    std::uint64_t sequence = 0;
    for (const StepScript& step : world.steps)
        EXPECT_EQ(actor.publish(step), sequence++);
    EXPECT_EQ(side.rank == 0 ? writer.counters().published : sequence, sequence);
    writer.close();
}

/// Get all of them.
inline void read_all(Reader reader, const World& world, const Side& side,
                     const Expected& expected) {
    ReaderActor actor(world, side.rank, expected);
    Random shared(world.seed);
    std::uint64_t sequence = 0;
    for (const StepScript& step : world.steps) {
        ASSERT_EQ(reader.next(StagingSuite::limit), StepStatus::step);
        EXPECT_EQ(reader.sequence(), sequence++);
        actor.check(reader, step);
        if (chance(shared, 0.5)) {
            reader.release();
            EXPECT_THROW(static_cast<void>(reader.step()), StagingError);
        }
    }
    EXPECT_EQ(reader.next(StagingSuite::limit), StepStatus::ended);
    EXPECT_EQ(reader.next(StagingSuite::limit), StepStatus::ended);
}

/// The same where the readers are the writer's own ranks.
inline void work_inside(Writer writer, const World& world) {
    const int rank = world_rank();
    WriterActor actor(writer, world, rank);
    ReaderActor reader(world, rank, {});
    const StepScript* now = nullptr;
    std::size_t worked = 0;
    reader.on_view = [&](std::size_t field, std::uint64_t block, const ConstArrayView& view) {
        EXPECT_EQ(view.data, actor.given(field, block)) << "copied";
    };
    writer.on_step([&](Reader& inside) {
        EXPECT_EQ(inside.sequence(), worked++);
        reader.check(inside, *now);
    });
    for (const StepScript& step : world.steps) {
        now = &step;
        EXPECT_TRUE(actor.publish(step));
    }
    EXPECT_EQ(worked, world.steps.size());
    writer.close();
}

} // namespace detail

TEST_P(StagingSuite, RandomStepsArriveAsSentWhicheverSideComesFirst) {
    for (std::uint64_t seed = 1; seed <= carrier().worlds; ++seed) {
        Random random(seed);
        const std::string stream = new_stream();
        EngineOptions options = lossless(stream);
        options.queue.depth = static_cast<std::size_t>(draw(random, 1, 3));
        options.checksums = chance(random, 0.5);
        const auto writer_late = std::chrono::milliseconds(chance(random, 0.2) ? 50 : 0);
        const auto reader_late = std::chrono::milliseconds(chance(random, 0.2) ? 50 : 0);
        const World world = make_world(seed, writers_of(seed));
        if (!carrier().read) {
            const auto comm = world_size() == 1 ? MPI_COMM_NULL : MPI_COMM_WORLD;
            detail::work_inside(carrier().write(stream, comm, options), world);
            continue;
        }
        run_both(
            world.writers,
            [&](const Side& side) {
                std::this_thread::sleep_for(writer_late);
                detail::publish_all(carrier().write(stream, side.comm, options), world, side);
            },
            [&](const Side& side) {
                std::this_thread::sleep_for(reader_late);
                detail::read_all(open_reader(stream, side), world, side, carrier().expected);
            });
    }
}

/// A world with many steps like its first: step i has the index i.
inline World endless(std::uint64_t seed, int writers) {
    World world = make_world(seed, writers);
    world.steps.resize(1);
    return world;
}

inline StepScript step_of(const World& world, std::int64_t index) {
    StepScript step = world.steps.front();
    step.index = index;
    step.time = static_cast<double>(index) / 8;
    step.note = "running";
    return step;
}

/// Publish step after step, and close.
inline void publish_until(Signal& done, const Side& side, const World& world, Writer writer) {
    const parallel::CollectiveGroup group = stream_group(side.comm);
    WriterActor actor(writer, world, side.rank);
    std::int64_t index = 0;
    do {
        actor.publish(step_of(world, ++index));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } while (!done.given(group));
    writer.close();
}

TEST_P(StagingSuite, ReadersComeAndGoWhileTheWriterRuns) {
    if (!carrier().read || !carrier().live)
        GTEST_SKIP() << "no readers that come and go";
    const std::string stream = new_stream();
    EngineOptions options = lossless(stream);
    options.queue.policy = QueuePolicy::latest_only;
    options.wait_for_readers = 0;
    const World world = endless(77, writers_of(1));
    Signal done;
    run_both(
        world.writers,
        [&](const Side& side) {
            publish_until(done, side, world, carrier().write(stream, side.comm, options));
        },
        [&](const Side& side) {
            std::int64_t last = 0;
            guarded("reader", [&] {
                for (int cycle = 0; cycle < 10; ++cycle) {
                    Reader reader = open_reader(stream, side);
                    ReaderActor actor(world, side.rank, carrier().expected);
                    for (int i = 0; i <= cycle % 3; ++i) {
                        if (reader.next(StagingSuite::limit) != StepStatus::step) {
                            ADD_FAILURE() << "no step in cycle " << cycle;
                            break;
                        }
                        EXPECT_GE(reader.step().index, last) << "older than what was seen before";
                        last = reader.step().index;
                        actor.glance(reader, step_of(world, last));
                    }
                    if (cycle % 2 == 0) {
                        reader.detach(); // else it is left to its end, with a step in its hands
                        EXPECT_EQ(reader.next(StagingSuite::limit), StepStatus::detached);
                    }
                }
            });
            done.give();
        });
}

TEST_P(StagingSuite, ASlowReaderDoesNotHoldUpAFastOne) {
    if (!carrier().read || !carrier().live)
        GTEST_SKIP() << "no readers that come and go";
    const std::string stream = new_stream();
    EngineOptions options = lossless(stream);
    options.queue.policy = QueuePolicy::drop_oldest;
    options.queue.depth = 3;
    options.wait_for_readers = 2;
    const World world = endless(78, writers_of(2));
    Signal done;
    run_both(
        world.writers,
        [&](const Side& side) {
            publish_until(done, side, world, carrier().write(stream, side.comm, options));
        },
        [&](const Side& side) {
            guarded("reader", [&] {
                Reader slow = open_reader(stream, side);
                Reader fast = open_reader(stream, side);
                ReaderActor slow_actor(world, side.rank, carrier().expected);
                ReaderActor fast_actor(world, side.rank, carrier().expected);
                EXPECT_EQ(slow.next(StagingSuite::limit), StepStatus::step);
                const std::int64_t held = slow.step().index;
                std::int64_t last = 0;
                for (int i = 0; i < 12; ++i) {
                    EXPECT_EQ(fast.next(StagingSuite::limit), StepStatus::step);
                    EXPECT_GT(fast.step().index, last);
                    last = fast.step().index;
                    fast_actor.glance(fast, step_of(world, last));
                }
                EXPECT_GT(last, held + 3) << "the fast one did not get beyond what the queue holds";
                slow_actor.glance(slow, step_of(world, held)); // it is still whole
                EXPECT_EQ(slow.next(StagingSuite::limit), StepStatus::step);
                EXPECT_GT(slow.step().index, held);
            });
            done.give();
        });
}

TEST_P(StagingSuite, AWaitEndsInTimeAndAMistakeSpoilsNothing) {
    if (!carrier().read || !carrier().live)
        GTEST_SKIP() << "no readers that wait";
    const std::string stream = new_stream();
    const World world = endless(79, writers_of(3));
    Signal waited;
    run_both(
        world.writers,
        [&](const Side& side) {
            const parallel::CollectiveGroup group = stream_group(side.comm);
            EngineOptions options = lossless(stream);
            options.wait_for_readers = 0;
            Writer writer = carrier().write(stream, side.comm, options);
            WriterActor actor(writer, world, side.rank);
            parallel::Backoff backoff;
            while (!waited.given(group))
                backoff.pause();
            actor.publish(step_of(world, 1));
            writer.close();
        },
        [&](const Side& side) {
            std::optional<Reader> reader;
            guarded("reader", [&] {
                reader.emplace(open_reader(stream, side));
                const auto start = std::chrono::steady_clock::now();
                EXPECT_EQ(reader->next(std::chrono::milliseconds(50)), StepStatus::timeout);
                const auto taken = std::chrono::steady_clock::now() - start;
                if (side.rank == 0) { // others may come when it waits already
                    EXPECT_GE(taken, std::chrono::milliseconds(50));
                }
                EXPECT_LT(taken, std::chrono::seconds(10));
                EXPECT_THROW(static_cast<void>(reader->step()), StagingError);
            });
            waited.give();
            if (!reader)
                return;
            ASSERT_EQ(reader->next(StagingSuite::limit), StepStatus::step);
            const ArrayView nothing = packed_view<std::byte>(nullptr, {}, 1, 8);
            EXPECT_THROW(reader->read("no such field", {}, nothing), StagingError);
            EXPECT_THROW(static_cast<void>(reader->view("no such field", 0)), StagingError);
            ReaderActor(world, side.rank, carrier().expected).check(*reader, step_of(world, 1));
            EXPECT_EQ(reader->next(StagingSuite::limit), StepStatus::ended);
        });
}

} // namespace uzushio::staging::suite
