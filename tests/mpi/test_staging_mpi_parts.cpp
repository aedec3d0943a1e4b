// ranks: 2 4
// programs: 2+1
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "staging/datamodel/copy.hpp"
#include "staging/reader.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/mpi/connect.hpp"
#include "staging/transport/mpi/job_state.hpp"
#include "staging/transport/mpi/peer_ranks.hpp"
#include "staging/transport/mpi/pending_sends.hpp"
#include "staging/transport/mpi/source.hpp"
#include "staging/transport/mpi/tags.hpp"
#include "staging/transport/mpi/windows.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/writer.hpp"

namespace uzushio::staging {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto long_enough = 60s;

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
int world_size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/// Division of the ranks of a job into several programs.
class Programs {
  public:
    explicit Programs(std::vector<int> sizes) {
        int end = 0;
        for (const int size : sizes) {
            end += size;
            which_ += world_rank() >= end ? 1 : 0;
        }
        MPI_Comm_split(MPI_COMM_WORLD, which_, world_rank(), &comm_);
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &size_);
    }
    Programs(const Programs&) = delete;
    Programs& operator=(const Programs&) = delete;
    ~Programs() {
        MPI_Comm_free(&comm_);
        MPI_Barrier(MPI_COMM_WORLD); // only the tests use this communicator
    }

    [[nodiscard]] int which() const { return which_; }
    [[nodiscard]] bool writes() const { return which_ == 0; }
    [[nodiscard]] MPI_Comm comm() const { return comm_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

  private:
    int which_ = 0;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
};

EngineOptions options(MpiMode mode) {
    EngineOptions options;
    options.engine = "mpi";
    options.mpi.mode = mode;
    options.queue.policy = QueuePolicy::block;
    options.queue.depth = 3;
    options.queue.time_limit = long_enough;
    options.wait_for_readers = 1;
    options.wait_limit = long_enough;
    options.close_limit = long_enough;
    return options;
}

const char* name_of(MpiMode mode) {
    switch (mode) {
    case MpiMode::two_sided:
        return "two_sided";
    case MpiMode::push:
        return "push";
    case MpiMode::pull:
        return "pull";
    }
    return "";
}

constexpr std::array modes{MpiMode::two_sided, MpiMode::push, MpiMode::pull};

/// Fields on a box of elements: p is a scalar with ghost layers and a gap after each row, u has
/// three planar components.
struct Domain {
    Box all{{}, {24, 20, 50}};

    static double p(std::int64_t step, std::int64_t z, std::int64_t y, std::int64_t x) {
        return static_cast<double>(step * 1'000'000'000 + z * 1'000'000 + y * 1000 + x);
    }
    static float u(std::int64_t step, std::int64_t z, std::int64_t y, std::int64_t x, int c) {
        return static_cast<float>(c * 100'000 + z * 4000 + y * 60 + x + 7 * step);
    }
};

/// Solver with slabs along z, two blocks on each rank.
class Solver {
  public:
    Solver(const std::string& stream, const Programs& programs, const EngineOptions& options,
           const Domain& domain = {})
        : domain_(domain), writer_(stream, programs.comm(), options) {
        writer_.uniform_mesh("mesh", domain.all, {0, 0, 0}, {1, 1, 1});
        writer_.field("p", "mesh", Association::element, ScalarType::float64);
        writer_.field("u", "mesh", Association::element, ScalarType::float32, 3);
        const std::int64_t parts = 2 * programs.size();
        for (int b = 0; b < 2; ++b) {
            const std::int64_t part = 2 * programs.rank() + b;
            Box owned = domain.all;
            owned.lower[0] = domain.all.extent(0) * part / parts;
            owned.upper[0] = domain.all.extent(0) * (part + 1) / parts;
            writer_.block(static_cast<std::uint64_t>(part), "mesh", owned);
            blocks_.push_back({static_cast<std::uint64_t>(part), owned, {}, {}});
        }
    }

    std::optional<std::uint64_t> publish(std::int64_t step) {
        writer_.begin_step(step, 0.5 * static_cast<double>(step));
        for (auto& block : blocks_)
            put(block, step);
        return writer_.end_step();
    }
    Writer& writer() { return writer_; }

  private:
    struct Held {
        std::uint64_t id;
        Box owned;
        std::vector<double> p;
        std::vector<float> u;
    };

    void put(Held& held, std::int64_t step) {
        const Ghosts ghosts{{1, 2, 3}, {2, 1, 0}};
        const Box box = grow(held.owned, ghosts);
        const std::int64_t row = box.extent(2) + 5;
        held.p.resize(static_cast<std::size_t>(box.extent(0) * box.extent(1) * row));
        held.u.resize(static_cast<std::size_t>(held.owned.volume() * 3));
        const ArrayView p{reinterpret_cast<std::byte*>(held.p.data()),
                          box.extents(),
                          {{box.extent(1) * row * 8, row * 8, 8}, 8},
                          1,
                          8};
        for (std::int64_t z = 0; z < box.extent(0); ++z)
            for (std::int64_t y = 0; y < box.extent(1); ++y)
                for (std::int64_t x = 0; x < box.extent(2); ++x)
                    held.p[static_cast<std::size_t>((z * box.extent(1) + y) * row + x)] =
                        Domain::p(step, box.lower[0] + z, box.lower[1] + y, box.lower[2] + x);
        std::size_t i = 0;
        const Box& owned = held.owned;
        for (int c = 0; c < 3; ++c)
            for (std::int64_t z = owned.lower[0]; z < owned.upper[0]; ++z)
                for (std::int64_t y = owned.lower[1]; y < owned.upper[1]; ++y)
                    for (std::int64_t x = owned.lower[2]; x < owned.upper[2]; ++x)
                        held.u[i++] = Domain::u(step, z, y, x, c);
        writer_.put("p", held.id, p, ghosts);
        writer_.put("u", held.id,
                    ConstArrayView{reinterpret_cast<const std::byte*>(held.u.data()),
                                   owned.extents(), planar(owned.extents(), 4), 3, 4});
    }

    Domain domain_;
    Writer writer_;
    std::vector<Held> blocks_;
};

/// Return the number of values in a box that differ from the solver's.
std::size_t wrong_values(Reader& reader, const Box& box) {
    const std::int64_t step = reader.step().index;
    std::vector<double> p(static_cast<std::size_t>(box.volume()));
    std::vector<float> u(p.size() * 3);
    std::size_t wrong = 0;
    wrong += reader
                 .read("p", box,
                       packed_view(reinterpret_cast<std::byte*>(p.data()), box.extents(), 1, 8))
                 .size();
    wrong += reader
                 .read("u", box,
                       packed_view(reinterpret_cast<std::byte*>(u.data()), box.extents(), 3, 4))
                 .size();
    std::size_t i = 0;
    for (std::int64_t z = box.lower[0]; z < box.upper[0]; ++z)
        for (std::int64_t y = box.lower[1]; y < box.upper[1]; ++y)
            for (std::int64_t x = box.lower[2]; x < box.upper[2]; ++x, ++i) {
                wrong += p[i] != Domain::p(step, z, y, x);
                for (int c = 0; c < 3; ++c)
                    wrong += u[i * 3 + static_cast<std::size_t>(c)] != Domain::u(step, z, y, x, c);
            }
    return wrong;
}

/// Part of `box` along its first axis for one of `ranks`.
Box slab(Box box, std::int64_t ranks, std::int64_t rank) {
    const std::int64_t first = rank * box.extent(0) / ranks;
    const std::int64_t end = (rank + 1) * box.extent(0) / ranks;
    box.upper[0] = box.lower[0] + end;
    box.lower[0] += first;
    return box;
}

/// Read all steps to the end of the stream; returns their indices.
std::vector<std::int64_t> read_all(Reader& reader, const Programs& programs,
                                   const Domain& domain = {}) {
    std::vector<std::int64_t> seen;
    while (reader.next(long_enough) == StepStatus::step) {
        seen.push_back(reader.step().index);
        const Box matches = slab(domain.all, programs.size(), programs.rank());
        EXPECT_EQ(wrong_values(reader, matches), 0u);
        EXPECT_EQ(wrong_values(reader, Box::at({3, 4, 7 + programs.rank()}, {17, 5, 31})), 0u);
        EXPECT_EQ(wrong_values(reader, domain.all), 0u);
    }
    return seen;
}

EngineOptions without_wait(MpiMode mode) {
    EngineOptions alone = options(mode);
    alone.queue.policy = QueuePolicy::latest_only;
    alone.wait_for_readers = 0;
    return alone;
}

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string message_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const StagingError& error) {
        return error.what();
    }
    return {};
}

TEST(StagingMpi, AnyNumberOfReadersReceivesTheValuesOfAnyNumberOfWriters) {
    for (int writers = 1; writers < world_size(); ++writers)
        for (const MpiMode mode : modes) {
            SCOPED_TRACE(std::to_string(writers) + " writers, " + name_of(mode));
            const Programs programs({writers});
            if (programs.writes()) {
                Solver solver("flow", programs, options(mode));
                for (int step = 0; step < 3; ++step)
                    EXPECT_EQ(solver.publish(step), static_cast<std::uint64_t>(step));
                solver.writer().close();
                if (programs.rank() == 0) {
                    EXPECT_EQ(solver.writer().counters().delivered, 3u);
                }
            } else {
                Reader reader("mpi:flow", programs.comm());
                EXPECT_EQ(read_all(reader, programs), (std::vector<std::int64_t>{0, 1, 2}));
            }
        }
}

TEST(StagingMpi, PiecesOfManyTilesAreComplete) {
    // Rows of 4 KiB and more are fetched one by one; 13 MB and 20 MB are several tiles of 4 MiB.
    for (const Box& all : {Box{{}, {40, 50, 800}}, Box{{}, {160, 160, 60}}})
        for (const MpiMode mode : modes) {
            SCOPED_TRACE(to_string(all) + ", " + name_of(mode));
            const Domain domain{all};
            const Programs programs({world_size() / 2});
            if (programs.writes()) {
                Solver solver("flow", programs, options(mode), domain);
                EXPECT_TRUE(solver.publish(1));
                solver.writer().close();
            } else {
                Reader reader("mpi:flow", programs.comm());
                ASSERT_EQ(reader.next(long_enough), StepStatus::step);
                EXPECT_EQ(wrong_values(reader, all), 0u);
                EXPECT_EQ(wrong_values(reader, Box::at({1, 2, 3}, {37, 41, 51})), 0u);
                EXPECT_EQ(reader.next(long_enough), StepStatus::ended);
            }
        }
}

TEST(StagingMpi, ReadersOfSeveralStreamsFindEachByItsName) {
    const Programs programs({world_size() / 2});
    if (programs.writes()) {
        Solver first("velocity", programs, options(MpiMode::pull));
        Solver second("pressure", programs, options(MpiMode::push));
        EXPECT_TRUE(first.publish(10));
        EXPECT_TRUE(second.publish(20));
        first.writer().close();
        second.writer().close();
    } else {
        Reader second("mpi:pressure", programs.comm());
        Reader first("mpi:velocity", programs.comm());
        EXPECT_EQ(read_all(first, programs), (std::vector<std::int64_t>{10}));
        EXPECT_EQ(read_all(second, programs), (std::vector<std::int64_t>{20}));
    }
}

TEST(StagingMpi, TwoProgramsReadTheSameStream) {
    if (world_size() < 3)
        GTEST_SKIP() << "needs three programs";
    for (const MpiMode mode : modes) {
        const Programs programs({world_size() - 2, 1, 1});
        if (programs.writes()) {
            EngineOptions both = options(mode);
            both.wait_for_readers = 2;
            Solver solver("flow", programs, both);
            for (int step = 0; step < 4; ++step)
                EXPECT_TRUE(solver.publish(step));
            solver.writer().close();
        } else {
            Reader reader("mpi:flow", programs.comm());
            EXPECT_EQ(read_all(reader, programs), (std::vector<std::int64_t>{0, 1, 2, 3}));
        }
    }
}

TEST(StagingMpi, ARankOfAReaderThatIsDoneDoesNotReleaseTheOthersStep) {
    for (const MpiMode mode : modes) {
        const Programs programs({1});
        const int first = 0;
        MPI_Comm readers = programs.comm();
        if (programs.writes()) {
            EngineOptions one = options(mode);
            one.queue.depth = 1;
            Solver solver("flow", programs, one);
            EXPECT_TRUE(solver.publish(1));
            EXPECT_TRUE(solver.publish(2)) << "accepted once all ranks have released the last step";
            solver.writer().close();
        } else {
            {
                Reader reader("mpi:flow", readers);
                ASSERT_EQ(reader.next(long_enough), StepStatus::step);
                if (programs.rank() != first) {
                    std::this_thread::sleep_for(50ms);
                    EXPECT_EQ(reader.step().index, 1);
                    EXPECT_EQ(wrong_values(reader, Domain{}.all), 0u);
                }
            }
            MPI_Barrier(readers);
        }
    }
}

TEST(StagingMpi, WithoutReadersTheSolverNeitherWaitsNorLosesProcessorTime) {
    const Programs programs({world_size() - 1});
    if (programs.writes()) {
        Solver solver("unread", programs, without_wait(MpiMode::pull));
        for (int step = 0; step < 5; ++step)
            EXPECT_TRUE(solver.publish(step));
        const double before = processor_seconds();
        std::this_thread::sleep_for(1s);
        EXPECT_LT(processor_seconds() - before, 0.2) << "an idle service takes a core";
        solver.writer().close();
        EXPECT_EQ(solver.writer().counters().seconds_waited, 0);
    } else {
        std::this_thread::sleep_for(1s);
    }
}

TEST(StagingMpi, AReaderThatWaitsMakesNeitherSideSpin) {
    const Programs programs({world_size() - 1});
    // A thread that spins takes a whole core; on a machine whose cores are shared, waking costs up
    // to a twentieth.
    constexpr double share_of_a_core = 0.2;
    const auto idle = [] { // measured once all threads sleep
        std::this_thread::sleep_for(300ms);
        const double before = processor_seconds();
        std::this_thread::sleep_for(2s);
        return (processor_seconds() - before) / 2;
    };
    if (programs.writes()) {
        Solver solver("slow", programs, options(MpiMode::pull));
        EXPECT_TRUE(solver.publish(0));
        EXPECT_LT(idle(), share_of_a_core);
        EXPECT_TRUE(solver.publish(1));
        solver.writer().close();
    } else {
        Reader reader("mpi:slow", programs.comm());
        EXPECT_EQ(reader.next(long_enough), StepStatus::step);
        const double before = processor_seconds();
        const auto start = std::chrono::steady_clock::now();
        EXPECT_EQ(reader.next(long_enough), StepStatus::step);
        const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
        EXPECT_GT(waited.count(), 1.0);
        EXPECT_LT((processor_seconds() - before) / waited.count(), share_of_a_core);
        EXPECT_EQ(reader.next(long_enough), StepStatus::ended);
    }
}

TEST(StagingMpi, AMissingStreamTimesOutAndIsFoundWhenItIsOpenedLater) {
    const Programs programs({world_size() / 2});
    if (programs.writes()) {
        std::this_thread::sleep_for(600ms);
        Solver solver("late", programs, options(MpiMode::two_sided));
        EXPECT_TRUE(solver.publish(1)) << "after a connect request that timed out";
        solver.writer().close();
    } else {
        ReaderOptions short_of_time;
        short_of_time.attach_limit = 200ms;
        const auto start = Clock::now();
        EXPECT_THROW(Reader("mpi:late", programs.comm(), short_of_time), PeerGone);
        EXPECT_LT(Clock::now() - start, 20s);
        Reader reader("mpi:late", programs.comm());
        EXPECT_EQ(read_all(reader, programs), (std::vector<std::int64_t>{1}));
    }
}

TEST(StagingMpi, AWriterThatStopsWithoutClosingIsGone) {
    const Programs programs({world_size() / 2});
    if (programs.writes()) {
        Solver solver("cut", programs, options(MpiMode::two_sided));
        EXPECT_TRUE(solver.publish(1));
    } else {
        Reader reader("mpi:cut", programs.comm());
        const std::string text = message_of([&] {
            while (reader.next(long_enough) == StepStatus::step) {
            }
        });
        EXPECT_NE(text.find("stopped before it closed"), std::string::npos) << text;
    }
}

TEST(StagingMpi, ClosingWithoutWaitingDoesNotAffectRunningGets) {
    const Programs programs({1, 1});
    constexpr int word = 1;
    SegmentPlace place;
    if (programs.writes()) {
        EngineOptions hasty = options(MpiMode::pull);
        hasty.close_limit = 0s;
        Solver solver("hasty", programs, hasty);
        EXPECT_TRUE(solver.publish(1));
        MPI_Recv(&place, sizeof place, MPI_BYTE, 1, word, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const std::span values(
            reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(place.handle)),
            place.bytes);
        const std::vector<std::byte> before(values.begin(), values.end());
        std::this_thread::sleep_for(100ms); // the service receives the progress hint
        solver.writer().close();
        EXPECT_TRUE(std::equal(values.begin(), values.end(), before.begin()));
        EXPECT_TRUE(std::any_of(values.begin(), values.end(),
                                [](std::byte one) { return one != std::byte{0}; }));
    } else if (programs.which() == 1) {
        const parallel::CollectiveGroup alone = stream_group(programs.comm());
        const mpi::Handshake found = mpi::connect("hasty", alone, {});
        const mpi::PeerRanks link(found.writers, found.readers);
        const auto windows = mpi::make_windows(link, found.mode);
        mpi::MpiSource source(link, windows, found.channel, found.mode);
        windows.wait();
        const AnnouncedStep announced = source.next(long_enough);
        ASSERT_EQ(announced.status, StepStatus::step);
        place = std::get<Announce>(decode_message(*announced.message)).places.at(0);
        mpi::PendingSends sends;
        sends.send(mpi::PeerRanks::comm(), 0,
                   mpi::tag(found.channel, mpi::MessageKind::progress_hint),
                   encode(ProgressHint{place.bytes}));
        MPI_Send(&place, sizeof place, MPI_BYTE, 0, word, MPI_COMM_WORLD);
        EXPECT_EQ(source.next(long_enough).status, StepStatus::ended);
    }
}

TEST(StagingMpi, AProcessThatWritesAStreamCannotReadIt) {
    const Programs programs({world_size()});
    Solver solver("inside", programs, without_wait(MpiMode::pull));
    if (programs.rank() == programs.size() - 1) {
        const std::string text = message_of([] { Reader("mpi:inside", MPI_COMM_SELF); });
        EXPECT_NE(text.find("cannot both write and read"), std::string::npos) << text;
    }
    MPI_Barrier(programs.comm());
    solver.writer().close();
}

TEST(StagingMpi, AReadFromASilentWriterTimesOut) {
    const Programs programs({1});
    std::vector<std::int32_t> readers;
    for (int rank = 1; rank < world_size(); ++rank)
        readers.push_back(rank);
    if (!programs.writes()) { // and the writer does not answer
        mpi::MpiSource source({{0}, readers}, {}, 4711, MpiMode::two_sided);
        double value = 0;
        Fetch fetch;
        fetch.request.source = {{}, {1, 1, 1}};
        fetch.to = packed_view(reinterpret_cast<std::byte*>(&value), {1, 1, 1}, 1, 8);
        const auto start = Clock::now();
        EXPECT_THROW(source.fetch({}, {&fetch, 1}, 200ms), PeerSilent);
        EXPECT_GE(Clock::now() - start, 200ms);
        EXPECT_LT(Clock::now() - start, 20s);
        EXPECT_EQ(source.next(10ms).status, StepStatus::timeout);
    }
}

TEST(StagingMpi, ProgramsOfOneLaunchExchangeSteps) {
    // Separate programs of one mpiexec: "mpiexec -n 2 SOLVER : -n 1 VIEWER".
    int* program = nullptr;
    int given = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, static_cast<void*>(&program), &given);
    const int own = given != 0 ? *program : 0;
    int last = 0;
    MPI_Allreduce(&own, &last, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (last == 0)
        GTEST_SKIP() << "needs a launch of two programs";
    int writers = own == 0 ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &writers, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const Programs programs({writers});
    ASSERT_EQ(programs.writes(), own == 0);
    for (const MpiMode mode : modes) {
        if (programs.writes()) {
            Solver solver("flow", programs, options(mode));
            for (int step = 0; step < 3; ++step)
                EXPECT_TRUE(solver.publish(step));
            solver.writer().close();
        } else {
            Reader reader("mpi:flow", programs.comm());
            EXPECT_EQ(read_all(reader, programs), (std::vector<std::int64_t>{0, 1, 2}));
        }
        MPI_Barrier(MPI_COMM_WORLD); // the next reader must not attach to this writer
    }
}

TEST(StagingMpi, StateOfARankIsMadeOncePerTypeForAllThreads) {
    struct First {
        std::atomic<int> count = 0;
    };
    struct Second {
        int count = 0;
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([] { ++mpi::job_state<First>().count; });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(mpi::job_state<First>().count, 8);
    EXPECT_EQ(mpi::job_state<Second>().count, 0);
    EXPECT_EQ(&mpi::job_state<Second>(), &mpi::job_state<Second>());
    MPI_Barrier(MPI_COMM_WORLD);
}

} // namespace
} // namespace uzushio::staging
