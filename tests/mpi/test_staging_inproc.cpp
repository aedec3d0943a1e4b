// ranks: 1 2 4
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "support/staging_suite.hpp"

#include "staging/stream_group.hpp"
#include "staging/transport/inproc/exchange.hpp"

namespace {

/// Number of calls of MPI_Igather, which gathers tables, on this rank.
int gathers = 0;

} // namespace

// Wrapper of MPI_Igather by MPI's profiling interface.
extern "C" int MPI_Igather(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                           int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                           MPI_Request* request) {
    ++gathers;
    return PMPI_Igather(send, send_count, send_type, receive, receive_count, receive_type, root,
                        comm, request);
}

namespace uzushio::staging::suite {
namespace {

/// Return the engine inproc: functions of on_step are its only readers.
TestedEngine inside() {
    TestedEngine tested = by_contact("inproc");
    tested.read = nullptr;
    tested.random_streams = 30;
    return tested;
}

INSTANTIATE_TEST_SUITE_P(Engines, StagingSuite, testing::Values(inside()), name_of);

TEST(StagingInproc, MissingMemoryForAReadOnOneRankIsAnErrorOnAll) {
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    if (group.size() == 1)
        GTEST_SKIP() << "needs several ranks";
    inproc::Exchange exchange(group);
    std::vector<double> target(100), source(100, 1.0);
    Fetch fetch;
    fetch.rank = static_cast<std::uint32_t>((group.rank() + 1) % group.size());
    fetch.request.source = {{}, {1, 1, 100}};
    fetch.to = packed_view(reinterpret_cast<std::byte*>(target.data()), {1, 1, 100}, 1, 8);
    bool short_of_memory = group.rank() == 0;
    const inproc::Exchange::Select select = [&](const PieceRequest&) {
        if (short_of_memory)
            throw std::bad_alloc();
        return packed_view(reinterpret_cast<const std::byte*>(source.data()), {1, 1, 100}, 1, 8);
    };
    EXPECT_THROW(exchange.run({&fetch, 1}, select), StagingError);
    EXPECT_EQ(target, std::vector<double>(100, 0.0)) << "no value was copied";
    short_of_memory = false;
    exchange.run({&fetch, 1}, select);
    EXPECT_EQ(target, source) << "the next one continues";
}

EngineOptions inproc() {
    EngineOptions options;
    options.engine = "inproc";
    return options;
}

/// A line of elements, `per_rank` on each rank, with a field of float64.
struct Line {
    static constexpr std::int64_t per_rank = 10;
    parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    Writer writer{"line", MPI_COMM_WORLD, inproc()};
    std::int64_t all = per_rank * group.size();
    std::vector<double> values = std::vector<double>(per_rank);

    Line() {
        writer.uniform_mesh("line", {{0, 0, 0}, {1, 1, all}}, {}, {1, 1, 1}, 1);
        writer.field("p", "line", Association::element, ScalarType::float64);
        writer.block(static_cast<std::uint64_t>(group.rank()), "line",
                     Box::at({0, 0, group.rank() * per_rank}, {1, 1, per_rank}));
        std::iota(values.begin(), values.end(), static_cast<double>(group.rank() * per_rank));
    }
    [[nodiscard]] bool last() const { return group.rank() == group.size() - 1; }
    void step(std::int64_t index) {
        writer.begin_step(index, 0);
        writer.put("p", static_cast<std::uint64_t>(group.rank()), values.data());
        writer.end_step();
    }
    /// Return the values of the whole line, read inside the step.
    [[nodiscard]] std::vector<double> read(Reader& reader) const {
        std::vector<double> got(static_cast<std::size_t>(all), -1);
        reader.read("p", {{0, 0, 0}, {1, 1, all}},
                    packed_view(reinterpret_cast<std::byte*>(got.data()), {1, 1, all}, 1, 8));
        return got;
    }
    [[nodiscard]] std::vector<double> truth() const {
        std::vector<double> line(static_cast<std::size_t>(all));
        std::iota(line.begin(), line.end(), 0.0);
        return line;
    }
};

TEST(StagingInproc, FunctionsGetTheSolversArraysWithTheirStridesAndGhosts) {
    Line line;
    const Ghosts ghosts{{0, 0, 2}, {0, 0, 1}};
    std::vector<double> columns(13 * 3);
    const auto* bytes = reinterpret_cast<const std::byte*>(columns.data());
    const ConstArrayView strided{bytes + 8, {1, 1, 13}, {{13 * 24, 13 * 24, 24}, 8}, 1, 8};
    int seen = 0;
    line.writer.on_step([&](Reader& reader) {
        for (std::uint32_t b = 0; b < reader.step().blocks.size(); ++b) {
            const auto view = reader.view("p", b);
            const bool own =
                reader.step().blocks[b].rank == static_cast<std::uint32_t>(line.group.rank());
            ASSERT_EQ(view.has_value(), own);
            if (!own)
                continue;
            ++seen;
            EXPECT_EQ(view->data, strided.data);
            EXPECT_EQ(view->count, strided.count);
            EXPECT_EQ(view->layout, strided.layout);
            EXPECT_EQ(reader.step().blocks[b].arrays.at(0).ghosts, ghosts);
        }
    });
    line.writer.begin_step(1, 0);
    line.writer.put("p", static_cast<std::uint64_t>(line.group.rank()), strided, ghosts);
    line.writer.end_step();
    EXPECT_EQ(seen, 1);
}

TEST(StagingInproc, EveryFunctionRunsInEveryStepInOrder) {
    Line line;
    std::string order;
    line.writer.on_step([&](Reader& reader) {
        order += "a" + std::to_string(reader.step().index);
        EXPECT_EQ(line.read(reader), line.truth());
    });
    line.writer.on_step([&](Reader& reader) {
        order += "b" + std::to_string(reader.step().index);
        EXPECT_EQ(line.read(reader), line.truth());
    });
    line.step(1);
    line.step(2);
    EXPECT_EQ(order, "a1b1a2b2");
    const QueueCounters counters = line.writer.counters();
    EXPECT_EQ(counters.published, 2u);
    EXPECT_EQ(counters.delivered, 4u);
    EXPECT_EQ(counters.dropped, 0u);
    EXPECT_GT(counters.seconds_waited, 0);
}

TEST(StagingInproc, AReaderInsideAStepHasThisStepOnly) {
    Line line;
    Reader* kept = nullptr;
    line.writer.on_step([&](Reader& reader) {
        EXPECT_THROW(static_cast<void>(reader.next(std::chrono::seconds(1))), StagingError);
        reader.release();
        reader.detach();
        EXPECT_EQ(reader.step().index, 1);
        EXPECT_EQ(line.read(reader), line.truth());
        EXPECT_THROW(static_cast<void>(reader.verify("p", 0)), StagingError) << "no checksums";
        kept = &reader;
    });
    line.step(1);
    EXPECT_THROW(static_cast<void>(kept->step()), StagingError);
    EXPECT_THROW(static_cast<void>(kept->next(std::chrono::seconds(1))), StagingError);
}

std::string message_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const StagingError& error) {
        return error.what();
    }
    return "nothing was thrown";
}

TEST(StagingInproc, AnErrorOfAFunctionOnOneRankIsThrownOnAllAlsoInReads) {
    Line line;
    int at = 0;
    std::vector<double> got;
    line.writer.on_step([&](Reader& reader) {
        if (at == 1 && line.last())
            throw std::runtime_error("The picture has no pixels.");
        got = line.read(reader);
        if (at == 2 && line.last())
            throw std::runtime_error("The picture has no pixels.");
    });
    line.step(0);
    for (at = 1; at <= 2; ++at)
        EXPECT_EQ(message_of([&] { line.step(at); }), "The picture has no pixels.");
    line.step(3);
    EXPECT_EQ(got, line.truth()) << "the next step works";
    EXPECT_EQ(line.writer.counters().published, 4u);
}

TEST(StagingInproc, AnInvalidReadOnOneRankIsRefusedOnAll) {
    Line line;
    line.writer.on_step([&](Reader& reader) {
        std::byte memory[8];
        const ArrayView one = packed_view(memory, {1, 1, 1}, 1, 8);
        EXPECT_EQ(
            message_of([&] { reader.read(line.last() ? "q" : "p", {{0, 0, 0}, {1, 1, 1}}, one); }),
            "The step has no field \"q\". It has \"p\".");
        EXPECT_EQ(line.read(reader), line.truth()) << "the next read works";
    });
    line.step(1);
}

TEST(StagingInproc, UnequalNumbersOfReadsAreAnError) {
    Line line;
    if (line.group.size() == 1)
        GTEST_SKIP() << "needs two ranks";
    line.writer.on_step([&](Reader& reader) {
        if (line.last()) {
            static_cast<void>(line.read(reader));
            static_cast<void>(line.read(reader));
        }
    });
    EXPECT_NE(message_of([&] { line.step(1); }).find("all ranks must read equally often"),
              std::string::npos);
}

TEST(StagingInproc, ARankThatIgnoresTheErrorDoesNotBlockOthers) {
    Line line;
    if (line.group.size() == 1)
        GTEST_SKIP() << "needs two ranks";
    line.writer.on_step([&](Reader& reader) {
        for (int i = 0; line.last() && i < 3; ++i)
            EXPECT_THROW(static_cast<void>(line.read(reader)), StagingError);
    });
    EXPECT_THROW(line.step(1), StagingError);
}

TEST(StagingInproc, DifferentNumbersOfFunctionsAreAnError) {
    Line line;
    if (line.group.size() == 1)
        GTEST_SKIP() << "needs two ranks";
    if (line.last())
        line.writer.on_step([](Reader&) { ADD_FAILURE() << "must not run"; });
    EXPECT_NE(message_of([&] { line.step(1); }).find("all ranks must register the same"),
              std::string::npos);
}

TEST(StagingInproc, PublishingInsideAFunctionIsRefused) {
    Line line;
    line.writer.on_step([&](Reader&) { line.step(2); });
    EXPECT_NE(message_of([&] { line.step(1); }).find("no other can begin inside the work on it"),
              std::string::npos);
}

TEST(StagingInproc, TheTableIsGatheredOnlyWhenItChanges) {
    Line line;
    if (line.group.size() == 1)
        GTEST_SKIP() << "nothing is gathered on one rank";
    line.writer.on_step([&](Reader& reader) { EXPECT_EQ(line.read(reader), line.truth()); });
    line.step(1);
    const int after_first = gathers;
    for (int i = 2; i < 6; ++i)
        line.step(i);
    EXPECT_EQ(gathers, after_first);
    if (line.last()) // on one rank only, and all must detect it
        line.writer.attribute("Re", 180.0);
    line.step(6);
    EXPECT_EQ(gathers, after_first + 1);
}

TEST(StagingInproc, TablesThatContradictEachOtherAreRefusedUntilTheyAgree) {
    Line line;
    if (line.group.size() == 1)
        GTEST_SKIP() << "needs two ranks";
    int runs = 0;
    line.writer.on_step([&](Reader&) { ++runs; });
    if (line.last())
        line.writer.field("extra", "line", Association::vertex, ScalarType::uint8);
    else
        line.writer.field("extra", "line", Association::vertex, ScalarType::int32);
    EXPECT_NE(message_of([&] { line.step(1); }).find("\"extra\" differently"), std::string::npos);
    line.writer.field("extra", "line", Association::vertex, ScalarType::int32);
    line.step(2);
    EXPECT_EQ(runs, 1);
}

TEST(StagingInproc, PiecesLargerThanAMessageAreComplete) {
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    const std::int64_t planes = 24, rows = 300, row = 500; // 29 MB of float64 per rank
    const std::int64_t all = planes * group.size();
    Writer writer("large", MPI_COMM_WORLD, inproc());
    writer.uniform_mesh("grid", {{0, 0, 0}, {all, rows, row}}, {}, {1, 1, 1});
    writer.field("p", "grid", Association::element, ScalarType::float64);
    const Box owned = Box::at({group.rank() * planes, 0, 0}, {planes, rows, row});
    writer.block(static_cast<std::uint64_t>(group.rank()), "grid", owned);
    // Values are the global indices, stored in every other element.
    std::vector<double> values(static_cast<std::size_t>(owned.volume() * 2));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<double>(group.rank() * owned.volume()) + static_cast<double>(i) / 2;
    ArrayLayout layout = interleaved(owned.extents(), 2, 8);
    const ConstArrayView view{reinterpret_cast<const std::byte*>(values.data()), owned.extents(),
                              layout, 1, 8};

    std::int64_t wrong = 0;
    writer.on_step([&](Reader& reader) {
        // The next rank's block and half of the following one, if they exist.
        const std::int64_t first = (group.rank() + 1) % group.size() * planes;
        const Box box =
            Box::at({first, 0, 0}, {std::min(planes + planes / 2, all - first), rows, row});
        std::vector<double> got(static_cast<std::size_t>(box.volume()));
        reader.read("p", box,
                    packed_view(reinterpret_cast<std::byte*>(got.data()), box.extents(), 1, 8));
        for (std::size_t i = 0; i < got.size(); ++i)
            wrong += got[i] != static_cast<double>(first * rows * row) + static_cast<double>(i);
    });
    writer.begin_step(1, 0);
    writer.put("p", static_cast<std::uint64_t>(group.rank()), view);
    writer.end_step();
    EXPECT_EQ(wrong, 0);
}

/// Memory whose pages are allocated when they are written.
class Pages {
  public:
    explicit Pages(std::size_t size)
        : size_(size), data_(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
        if (data_ == MAP_FAILED)
            throw std::bad_alloc();
        madvise(data_, size, MADV_HUGEPAGE);
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages() { munmap(data_, size_); }
    [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

  private:
    std::size_t size_;
    void* data_;
};

TEST(StagingInproc, ABlockMayExceedTwoGibibytes) {
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    if (group.size() != 2)
        GTEST_SKIP() << "on two ranks: one has it, the other reads it";
    const Box owned{{0, 0, 0}, {2200, 1024, 1024}};
    const auto bytes = static_cast<std::size_t>(owned.volume());
    const Pages memory(bytes);
    const std::size_t marks = 104'857'601, beyond = std::size_t{1} << 31;
    Writer writer("huge", MPI_COMM_WORLD, inproc());
    writer.uniform_mesh("grid", owned, {}, {1, 1, 1});
    writer.field("p", "grid", Association::element, ScalarType::uint8);
    if (group.rank() == 0) {
        writer.block(0, "grid", owned);
        for (std::size_t i = 7; i < beyond; i += marks)
            memory.data()[i] = std::byte{1};
        std::fill(memory.data() + beyond, memory.data() + bytes, std::byte{1});
    }
    writer.on_step([&](Reader& reader) {
        const bool reads = group.rank() == 1;
        reader.read("p", reads ? owned : Box{},
                    packed_view(memory.data(), reads ? owned.extents() : Extent{}, 1, 1));
    });
    writer.begin_step(1, 0);
    if (group.rank() == 0)
        writer.put("p", 0, memory.data());
    writer.end_step();
    std::size_t sum = 0, marked = 0;
    for (std::size_t i = 0; i < bytes; ++i)
        sum += static_cast<std::size_t>(memory.data()[i]);
    for (std::size_t i = 7; i < beyond; i += marks)
        marked += static_cast<std::size_t>(memory.data()[i]);
    EXPECT_EQ(marked, (beyond - 7 + marks - 1) / marks);
    EXPECT_EQ(sum, marked + bytes - beyond) << "of zeros and ones";
}

} // namespace
} // namespace uzushio::staging::suite
