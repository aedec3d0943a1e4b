#pragma once

// Tests that every staging engine must pass. A test of an engine defines how its writers and
// readers are opened:
//
//     // ranks: 1 2 4
//     #include "support/staging_suite.hpp"
//
//     namespace uzushio::staging::suite {
//     INSTANTIATE_TEST_SUITE_P(Engines, StagingSuite,
//                              testing::Values(by_contact("tcp"), by_contact("shm")), name_of);
//     }
//
// It may fill a TestedEngine itself if the engine needs more than its name. All ranks of the job
// run every test: some write, the others read; on one rank two threads write and read without MPI.
// A test in this file is run for every engine. It uses TestedEngine, run_both, StreamScript,
// WriterActor and ReaderActor, and does not depend on the engine.

#include <gtest/gtest.h>

#include <array>
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
#include "support/staging_script.hpp"
#include "support/staging_sides.hpp"
#include "support/staging_writing.hpp"

namespace uzushio::staging::suite {

/// Engine under test.
struct TestedEngine {
    std::string name; ///< letters and digits, unique in the test file

    /// Open a writer. `options` have queue, limits, checksums, and a contact file of this stream in
    /// a folder that is removed after the test; `write` sets the engine and its options.
    std::function<Writer(const std::string& stream, MPI_Comm comm, EngineOptions options)> write;
    /// Attach to that stream; `contact` is the file in the writer's options. Readers often attach
    /// before the writer opens. Not set: functions of on_step are the only readers.
    std::function<Reader(const std::string& stream, const std::string& contact, MPI_Comm comm)>
        read;

    Expected expected;   ///< guarantees for readers
    bool threads = true; ///< writer and reader can be two threads of a process without MPI
    bool live = true; ///< readers attach and detach while the writer runs; else they get every step
    std::uint64_t random_streams = 12; ///< number of random streams
};

inline std::string name_of(const testing::TestParamInfo<TestedEngine>& info) {
    return info.param.name;
}

/// Return an engine whose readers find the writer by its contact file.
inline TestedEngine by_contact(const std::string& engine) {
    TestedEngine tested;
    tested.name = engine;
    tested.write = [engine](const std::string& stream, MPI_Comm comm, EngineOptions options) {
        options.engine = engine;
        return Writer(stream, comm, options);
    };
    tested.read = [](const std::string&, const std::string& contact, MPI_Comm comm) {
        return Reader(contact, comm);
    };
    return tested;
}

class StagingSuite : public testing::TestWithParam<TestedEngine> {
  public:
    static constexpr std::chrono::seconds limit{30}; ///< of every wait

  protected:
    static void SetUpTestSuite() { folder_ = std::make_unique<Folder>(); }
    static void TearDownTestSuite() { folder_ = nullptr; }

    void SetUp() override {
        if (tested().read && !tested().threads && world_size() == 1)
            GTEST_SKIP() << "needs ranks for both sides";
    }

    [[nodiscard]] static const TestedEngine& tested() { return GetParam(); }

    /// Return a name that is unique in the job, and the same on all ranks.
    [[nodiscard]] static std::string new_stream() {
        return tested().name + std::to_string(++streams_);
    }
    [[nodiscard]] static std::filesystem::path contact_of(const std::string& stream) {
        return folder_->path() / (stream + ".contact");
    }
    /// Return options with which every step reaches every reader, or the writer fails.
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
        return tested().read(stream, contact_of(stream).string(), side.comm);
    }
    /// Return the number of ranks that write; the same on all ranks for a seed.
    [[nodiscard]] static int writers_of(std::uint64_t seed) {
        const int ranks = world_size();
        if (!tested().read || ranks == 1)
            return ranks;
        return 1 + static_cast<int>(seed % static_cast<std::uint64_t>(ranks - 1));
    }

  private:
    inline static std::unique_ptr<Folder> folder_;
    inline static int streams_ = 0;
};

namespace detail {

/// Publish all steps of a script, and close the writer.
inline void publish_all(Writer writer, const StreamScript& script, const Side& side) {
    WriterActor actor(writer, script, side.rank);
    std::uint64_t sequence = 0;
    for (const StepScript& step : script.steps)
        EXPECT_EQ(actor.publish(step), sequence++);
    EXPECT_EQ(side.rank == 0 ? writer.counters().published : sequence, sequence);
    writer.close();
}

/// Read and check all steps of a script.
inline void read_all(Reader reader, const StreamScript& script, const Side& side,
                     const Expected& expected) {
    ReaderActor actor(script, side.rank, expected);
    Random shared(script.seed);
    std::uint64_t sequence = 0;
    for (const StepScript& step : script.steps) {
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

/// Publish all steps of a script, and check them in a function of on_step.
inline void work_inside(Writer writer, const StreamScript& script) {
    const int rank = world_rank();
    WriterActor actor(writer, script, rank);
    ReaderActor reader(script, rank, {});
    const StepScript* now = nullptr;
    std::size_t worked = 0;
    reader.on_view = [&](std::size_t field, std::uint64_t block, const ConstArrayView& view) {
        EXPECT_EQ(view.data, actor.published_address(field, block)) << "copied";
    };
    writer.on_step([&](Reader& inside) {
        EXPECT_EQ(inside.sequence(), worked++);
        reader.check(inside, *now);
    });
    for (const StepScript& step : script.steps) {
        now = &step;
        EXPECT_TRUE(actor.publish(step));
    }
    EXPECT_EQ(worked, script.steps.size());
    writer.close();
}

} // namespace detail

TEST_P(StagingSuite, ReadersReceiveRandomStepsWhicheverSideStartsFirst) {
    for (std::uint64_t seed = 1; seed <= tested().random_streams; ++seed) {
        Random random(seed);
        const std::string stream = new_stream();
        EngineOptions options = lossless(stream);
        options.queue.depth = static_cast<std::size_t>(draw(random, 1, 3));
        options.checksums = chance(random, 0.5);
        const auto writer_late = std::chrono::milliseconds(chance(random, 0.2) ? 50 : 0);
        const auto reader_late = std::chrono::milliseconds(chance(random, 0.2) ? 50 : 0);
        const StreamScript script = make_stream_script(seed, writers_of(seed));
        if (!tested().read) {
            const auto comm = world_size() == 1 ? MPI_COMM_NULL : MPI_COMM_WORLD;
            detail::work_inside(tested().write(stream, comm, options), script);
            continue;
        }
        run_both(
            script.writers,
            [&](const Side& side) {
                std::this_thread::sleep_for(writer_late);
                detail::publish_all(tested().write(stream, side.comm, options), script, side);
            },
            [&](const Side& side) {
                std::this_thread::sleep_for(reader_late);
                detail::read_all(open_reader(stream, side), script, side, tested().expected);
            });
    }
}

/// Return a script for any number of steps like its first: step i has the index i.
inline StreamScript endless(std::uint64_t seed, int writers) {
    StreamScript script = make_stream_script(seed, writers);
    script.steps.resize(1);
    return script;
}

inline StepScript step_of(const StreamScript& script, std::int64_t index) {
    StepScript step = script.steps.front();
    step.index = index;
    step.time = static_cast<double>(index) / 8;
    step.note = "running";
    return step;
}

/// Publish steps until the signal is received, and close the writer.
inline void publish_until(Signal& done, const Side& side, const StreamScript& script,
                          Writer writer) {
    const parallel::CollectiveGroup group = stream_group(side.comm);
    WriterActor actor(writer, script, side.rank);
    std::int64_t index = 0;
    do {
        actor.publish(step_of(script, ++index));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } while (!done.received(group));
    writer.close();
}

TEST_P(StagingSuite, ReadersAttachAndDetachWhileTheWriterRuns) {
    if (!tested().read || !tested().live)
        GTEST_SKIP() << "readers cannot attach while the writer runs";
    const std::string stream = new_stream();
    EngineOptions options = lossless(stream);
    options.queue.policy = QueuePolicy::latest_only;
    options.wait_for_readers = 0;
    const StreamScript script = endless(77, writers_of(1));
    Signal done;
    run_both(
        script.writers,
        [&](const Side& side) {
            publish_until(done, side, script, tested().write(stream, side.comm, options));
        },
        [&](const Side& side) {
            const parallel::CollectiveGroup group = stream_group(side.comm);
            std::int64_t last = 0;
            guarded("reader", [&] {
                for (int cycle = 0; cycle < 10; ++cycle) {
                    Reader reader = open_reader(stream, side);
                    ReaderActor actor(script, side.rank, tested().expected);
                    for (int i = 0; i <= cycle % 3; ++i) {
                        if (reader.next(StagingSuite::limit) != StepStatus::step) {
                            ADD_FAILURE() << "no step in cycle " << cycle;
                            break;
                        }
                        EXPECT_GE(reader.step().index, last) << "older than the step before";
                        last = reader.step().index;
                        actor.check_one_box(reader, step_of(script, last));
                    }
                    if (cycle % 2 == 0) {
                        reader.detach(); // else it is destroyed while it holds a step
                        EXPECT_EQ(reader.next(StagingSuite::limit), StepStatus::detached);
                    }
                    group.barrier(); // a destructor does not wait for reads of the other ranks
                }
            });
            done.send();
        });
}

TEST_P(StagingSuite, CommandsReachTheWriterAndRepliesTheirReader) {
    if (!tested().read || !tested().live)
        GTEST_SKIP() << "no commands";
    const std::string stream = new_stream();
    EngineOptions options = lossless(stream);
    options.queue.policy = QueuePolicy::latest_only;
    options.wait_for_readers = 0;
    const StreamScript script = endless(80, writers_of(4));
    constexpr std::uint64_t commands = 5;
    Signal done;
    run_both(
        script.writers,
        [&](const Side& side) {
            const parallel::CollectiveGroup group = stream_group(side.comm);
            Writer writer = tested().write(stream, side.comm, options);
            WriterActor actor(writer, script, side.rank);
            std::uint64_t taken = 0;
            int left = 0;
            const auto answer = [&] {
                for (const ReceivedCommand& one : writer.take_commands()) {
                    left += one.left ? 1 : 0;
                    if (one.left)
                        continue;
                    EXPECT_EQ(one.command.number, ++taken);
                    writer.reply(one.reader, one.command.number, "to " + one.command.text);
                }
            };
            for (std::int64_t index = 0; !done.received(group);) {
                actor.publish(step_of(script, ++index));
                answer();
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            const auto end = std::chrono::steady_clock::now() + limit;
            for (parallel::Backoff backoff;
                 side.rank == 0 && left == 0 && std::chrono::steady_clock::now() < end;
                 backoff.pause())
                answer();
            EXPECT_EQ(taken, side.rank == 0 ? commands : 0);
            EXPECT_EQ(left, side.rank == 0 ? 1 : 0);
            writer.close();
        },
        [&](const Side& side) {
            guarded("reader", [&] {
                const parallel::CollectiveGroup group = stream_group(side.comm);
                Reader reader = open_reader(stream, side);
                if (side.rank == 0) {
                    EXPECT_THROW(reader.send(std::string(Command::max_text + 1, 'x')),
                                 StagingError);
                    for (std::uint64_t n = 1; n <= commands; ++n)
                        EXPECT_EQ(reader.send("command " + std::to_string(n)), n);
                } else {
                    EXPECT_THROW(reader.send("from another rank"), StagingError);
                }
                std::array<std::uint64_t, 1> replies{0};
                while (replies[0] < commands &&
                       reader.next(StagingSuite::limit) == StepStatus::step) {
                    for (const Reply& reply : reader.take_replies()) {
                        EXPECT_EQ(reply.number, ++replies[0]);
                        EXPECT_EQ(reply.text, "to command " + std::to_string(reply.number));
                    }
                    group.max(replies);
                }
                EXPECT_EQ(replies[0], commands);
                reader.detach();
            });
            done.send();
        });
}

TEST_P(StagingSuite, ASlowReaderDoesNotDelayAFastOne) {
    if (!tested().read || !tested().live)
        GTEST_SKIP() << "readers cannot attach while the writer runs";
    const std::string stream = new_stream();
    EngineOptions options = lossless(stream);
    options.queue.policy = QueuePolicy::drop_oldest;
    options.queue.depth = 3;
    options.wait_for_readers = 2;
    const StreamScript script = endless(78, writers_of(2));
    Signal done;
    run_both(
        script.writers,
        [&](const Side& side) {
            publish_until(done, side, script, tested().write(stream, side.comm, options));
        },
        [&](const Side& side) {
            guarded("reader", [&] {
                Reader slow = open_reader(stream, side);
                Reader fast = open_reader(stream, side);
                ReaderActor slow_actor(script, side.rank, tested().expected);
                ReaderActor fast_actor(script, side.rank, tested().expected);
                EXPECT_EQ(slow.next(StagingSuite::limit), StepStatus::step);
                const std::int64_t held = slow.step().index;
                std::int64_t last = 0;
                for (int i = 0; i < 12; ++i) {
                    EXPECT_EQ(fast.next(StagingSuite::limit), StepStatus::step);
                    EXPECT_GT(fast.step().index, last);
                    last = fast.step().index;
                    fast_actor.check_one_box(fast, step_of(script, last));
                }
                EXPECT_GT(last, held + 3) << "the fast reader must get beyond the queued steps";
                slow_actor.check_one_box(slow, step_of(script, held)); // unchanged
                EXPECT_EQ(slow.next(StagingSuite::limit), StepStatus::step);
                EXPECT_GT(slow.step().index, held);
            });
            done.send();
        });
}

TEST_P(StagingSuite, AWaitTimesOutAndMisuseLeavesTheReaderUsable) {
    if (!tested().read || !tested().live)
        GTEST_SKIP() << "no readers that wait";
    const std::string stream = new_stream();
    const StreamScript script = endless(79, writers_of(3));
    Signal waited;
    run_both(
        script.writers,
        [&](const Side& side) {
            const parallel::CollectiveGroup group = stream_group(side.comm);
            EngineOptions options = lossless(stream);
            options.wait_for_readers = 0;
            Writer writer = tested().write(stream, side.comm, options);
            WriterActor actor(writer, script, side.rank);
            parallel::Backoff backoff;
            while (!waited.received(group))
                backoff.pause();
            actor.publish(step_of(script, 1));
            writer.close();
        },
        [&](const Side& side) {
            std::optional<Reader> reader;
            guarded("reader", [&] {
                reader.emplace(open_reader(stream, side));
                const auto start = std::chrono::steady_clock::now();
                EXPECT_EQ(reader->next(std::chrono::milliseconds(50)), StepStatus::timeout);
                const auto taken = std::chrono::steady_clock::now() - start;
                if (side.rank == 0) { // others may call it when rank 0 waits already
                    EXPECT_GE(taken, std::chrono::milliseconds(50));
                }
                EXPECT_LT(taken, StagingSuite::limit);
                EXPECT_THROW(static_cast<void>(reader->step()), StagingError);
            });
            waited.send();
            if (!reader)
                return;
            ASSERT_EQ(reader->next(StagingSuite::limit), StepStatus::step);
            const ArrayView nothing = packed_view<std::byte>(nullptr, {}, 1, 8);
            EXPECT_THROW(reader->read("no such field", {}, nothing), StagingError);
            EXPECT_THROW(static_cast<void>(reader->view("no such field", 0)), StagingError);
            ReaderActor(script, side.rank, tested().expected).check(*reader, step_of(script, 1));
            EXPECT_EQ(reader->next(StagingSuite::limit), StepStatus::ended);
        });
}

} // namespace uzushio::staging::suite
