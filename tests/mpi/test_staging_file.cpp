// ranks: 1 2 4
#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "staging/datamodel/read_planner.hpp"
#include "staging/notice.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/file/documents.hpp"
#include "staging/transport/file/file_engine.hpp"
#include "staging/transport/file/file_source.hpp"
#include "staging/transport/file/names.hpp"
#include "staging/wire/checksum.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/select.hpp"
#include "support/random_array.hpp"
#include "support/staging_suite.hpp"

namespace uzushio::staging::file {
namespace {

namespace fs = std::filesystem;
using namespace arrays;
using namespace std::chrono_literals;
using suite::world_rank;

EngineOptions options_for(const fs::path& store, bool overwrite = false) {
    EngineOptions options;
    options.engine = "file";
    options.file = {store, overwrite, false};
    return options;
}

ReaderOptions reader_options(std::chrono::nanoseconds attach_limit = 20s, bool verify = true) {
    ReaderOptions options;
    options.attach_limit = attach_limit;
    options.verify = verify;
    return options;
}

/// Return the error text; empty if nothing is thrown.
std::string fault(const std::function<void()>& work) {
    try {
        work();
    } catch (const StagingError& error) {
        return error.what();
    }
    return {};
}

/// Return the value of a component at a global index at a step; unequal for all tested ones.
double value_at(std::uint64_t step, std::int64_t z, std::int64_t y, std::int64_t x,
                std::int64_t c) {
    return static_cast<double>(step) * 1e6 + static_cast<double>(z * 10000 + y * 100 + x) +
           0.1 * static_cast<double>(c);
}

/// One rank's blocks of a box of 8 x 6 x (5 per rank) elements with a ghost layer, and a vector
/// field of two components in memory with gaps.
struct Blocks {
    static constexpr std::int64_t width = 5;
    std::vector<std::vector<double>> memory;
    LocalStep step;
};

Blocks blocks_of(int rank, int ranks, std::uint64_t number,
                 ComponentOrder order = ComponentOrder::interleaved) {
    Blocks blocks;
    StepInfo& part = blocks.step.part;
    part.index = static_cast<std::int64_t>(10 * number);
    part.time = 0.5 * static_cast<double>(number);
    part.attributes = {{"case", std::string("test")}};
    part.coordsets = {{"mesh", UniformCoords{}}};
    part.topologies = {{"mesh", 0, 3, {{}, {8, 6, Blocks::width * ranks}}}};
    part.fields = {{"velo/city",
                    0,
                    Association::element,
                    ScalarType::float64,
                    2,
                    {{"units", std::string("m/s")}}}};
    for (int half = 0; half < 2; ++half) { // two blocks per rank, one above the other
        Block block = Block::with_elements(
            Box::at({4 * half, 0, Blocks::width * rank}, {4, 6, Blocks::width}));
        block.id = static_cast<std::uint64_t>(2 * rank + half);
        StoredArray array;
        array.ghosts = {{1, 0, 1}, {0, 1, 1}};
        const Box box = grow(block.elements, array.ghosts);
        Extent room = box.extents();
        ++room[2]; // a gap behind every row
        const ArrayLayout layout =
            order == ComponentOrder::planar ? planar(room, 8) : interleaved(room, 2, 8);
        auto& memory = blocks.memory.emplace_back(
            static_cast<std::size_t>(room[0] * room[1] * room[2] * 2), -1.0);
        const ArrayView view{reinterpret_cast<std::byte*>(memory.data()), box.extents(), layout, 2,
                             8};
        for (std::int64_t z = 0; z < box.extent(0); ++z)
            for (std::int64_t y = 0; y < box.extent(1); ++y)
                for (std::int64_t x = 0; x < box.extent(2); ++x)
                    for (std::int64_t c = 0; c < 2; ++c) {
                        const double value = value_at(number, z + box.lower[0], y + box.lower[1],
                                                      x + box.lower[2], c);
                        std::memcpy(at(view, z, y, x, c), &value, sizeof value);
                    }
        array.layout = layout;
        block.arrays = {array};
        part.blocks.push_back(block);
        blocks.step.values.push_back(view);
    }
    return blocks;
}

void publish(FileEngine& engine, const parallel::CollectiveGroup& group, std::uint64_t number,
             ComponentOrder order = ComponentOrder::interleaved) {
    Blocks blocks = blocks_of(group.rank(), group.size(), number, order);
    const auto sequence = engine.publish(std::move(blocks.step));
    EXPECT_TRUE(sequence.has_value());
}

Announce announced(const AnnouncedStep& answer) {
    const auto& bytes = *answer.message;
    const FrameHeader frame =
        decode_frame_header(std::span<const std::byte, FrameHeader::size>(bytes.data(), 16));
    return std::get<Announce>(decode(frame, std::span(bytes).subspan(FrameHeader::size)));
}

/// Read a box of the only field, packed.
std::vector<double> read(StepSource& source, const Announce& step, const Box& box) {
    std::vector<double> values(static_cast<std::size_t>(box.volume() * 2), -7.0);
    const ArrayView to =
        packed_view(reinterpret_cast<std::byte*>(values.data()), box.extents(), 2, 8);
    const ReadPlan plan = ReadPlanner(step.step, 0).plan(box);
    EXPECT_TRUE(plan.missing.empty());
    std::vector<Fetch> wanted;
    for (const auto& piece : plan.pieces)
        wanted.push_back(
            {piece.rank, request_of(step.step, piece, step.sequence, 0), to.sub(piece.target)});
    source.begin(step);
    source.fetch(step, wanted, 10s);
    source.end(step);
    return values;
}

std::vector<double> expected(std::uint64_t number, const Box& box) {
    std::vector<double> values;
    for (std::int64_t z = 0; z < box.extent(0); ++z)
        for (std::int64_t y = 0; y < box.extent(1); ++y)
            for (std::int64_t x = 0; x < box.extent(2); ++x)
                for (std::int64_t c = 0; c < 2; ++c)
                    values.push_back(
                        value_at(number, z + box.lower[0], y + box.lower[1], x + box.lower[2], c));
    return values;
}

std::string read_text(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void write_text(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

/// Return the names in the store's folder and among its steps that are not of complete steps.
std::vector<std::string> left_over(const fs::path& store) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(store))
        if (const std::string name = entry.path().filename();
            name != document && name != steps_folder)
            names.push_back(name);
    for (const auto& entry : fs::directory_iterator(store / steps_folder))
        if (const std::string name = entry.path().filename();
            name != document && !sequence_of(name))
            names.push_back(name);
    return names;
}

// The engine, written by all ranks.

class StagingFile : public testing::Test {
  protected:
    [[nodiscard]] std::unique_ptr<FileEngine> engine(bool overwrite = false) const {
        return std::make_unique<FileEngine>("flow", group_, options_for(store_, overwrite));
    }
    /// Make a closed store of `steps` steps.
    void store(std::uint64_t steps) const {
        EngineOptions options = options_for(store_);
        options.file.sync = true;
        FileEngine writer("flow", group_, options);
        for (std::uint64_t number = 0; number < steps; ++number)
            publish(writer, group_, number,
                    number % 2 ? ComponentOrder::planar : ComponentOrder::interleaved);
        writer.close();
    }
    [[nodiscard]] Box everything() const { return {{}, {8, 6, Blocks::width * group_.size()}}; }
    /// Run `work` on rank 0 while the others wait.
    void alone(const std::function<void()>& work) const {
        if (group_.rank() == 0)
            work();
        group_.barrier();
    }

    suite::Folder temporary_;
    fs::path folder_ = temporary_.path();
    parallel::CollectiveGroup group_ = stream_group(MPI_COMM_WORLD);
    fs::path store_ = folder_ / "flow.zarr";
};

TEST_F(StagingFile, AReaderGetsAllStepsInOrderAndThenTheEnd) {
    store(3);
    alone([&] {
        const parallel::CollectiveGroup self = stream_group();
        FileSource source(store_, self, reader_options());
        for (std::uint64_t number = 0; number < 3; ++number) {
            const AnnouncedStep answer = source.next(5s);
            ASSERT_EQ(answer.status, StepStatus::step);
            const Announce step = announced(answer);
            EXPECT_EQ(step.sequence, number);
            EXPECT_EQ(step.step.index, static_cast<std::int64_t>(10 * number));
            EXPECT_EQ(step.step.blocks.size(), 2u * group_.size());
            EXPECT_EQ(read(source, step, everything()), expected(number, everything()));
            const Box inner = Box::at({2, 1, 1}, {5, 4, everything().extent(2) - 2});
            EXPECT_EQ(read(source, step, inner), expected(number, inner));
        }
        EXPECT_EQ(source.next(5s).status, StepStatus::ended);
        EXPECT_EQ(source.next(5s).status, StepStatus::ended);
    });
}

TEST_F(StagingFile, AnyNumberOfReadersStartsAtTheFirstStep) {
    store(2);
    FileSource source(
        store_, group_,
        reader_options()); // one reader per writer rank, which reads the next rank's part
    const Box mine = Box::at({0, 0, Blocks::width * ((group_.rank() + 1) % group_.size())},
                             {8, 6, Blocks::width});
    for (std::uint64_t number = 0; number < 2; ++number) {
        const Announce step = announced(source.next(5s));
        EXPECT_EQ(read(source, step, mine), expected(number, mine));
    }
}

TEST_F(StagingFile, HasTheChecksumOfEveryArray) {
    store(2);
    alone([&] {
        const parallel::CollectiveGroup self = stream_group();
        FileSource source(store_, self, reader_options());
        for (std::uint64_t number = 0; number < 2; ++number) {
            const Announce step = announced(source.next(5s));
            for (const auto& block : step.step.blocks) {
                const Blocks sent =
                    blocks_of(static_cast<int>(block.rank), group_.size(), number,
                              number % 2 ? ComponentOrder::planar : ComponentOrder::interleaved);
                const std::size_t which = block.id % 2;
                ASSERT_TRUE(block.arrays.at(0).checksum.has_value());
                EXPECT_EQ(*block.arrays[0].checksum, checksum(sent.step.values[which]));
            }
        }
    });
}

TEST_F(StagingFile, AReaderMayAttachWhileTheWriterWrites) {
    // The last rank also reads, in another thread.
    const bool reads = group_.rank() == group_.size() - 1;
    std::vector<StepStatus> seen;
    std::vector<bool> right;
    std::jthread reader;
    if (reads)
        reader = std::jthread([&] {
            const parallel::CollectiveGroup self = stream_group();
            FileSource source(store_, self, reader_options());
            for (;;) {
                const AnnouncedStep answer = source.next(20s);
                seen.push_back(answer.status);
                if (answer.status != StepStatus::step)
                    return;
                const Announce step = announced(answer);
                right.push_back(read(source, step, everything()) ==
                                expected(step.sequence, everything()));
            }
        });
    std::this_thread::sleep_for(100ms); // the reader waits for the store
    const auto writer = engine();
    for (std::uint64_t number = 0; number < 3; ++number) {
        publish(*writer, group_, number);
        std::this_thread::sleep_for(120ms); // the reader waits for the step
    }
    writer->close();
    if (!reads)
        return;
    reader.join();
    EXPECT_EQ(seen, (std::vector{StepStatus::step, StepStatus::step, StepStatus::step,
                                 StepStatus::ended}));
    EXPECT_EQ(right, std::vector<bool>(3, true));
}

TEST_F(StagingFile, EndsWhenTheWriterDiedAndReturnsItsCompleteSteps) {
    {
        const auto writer = engine();
        publish(*writer, group_, 0);
    } // no close
    alone([&] {
        make_folder(new_step_path(store_, 1)); // in the middle of its second step
        const parallel::CollectiveGroup self = stream_group();
        FileSource source(store_, self, reader_options());
        EXPECT_EQ(source.next(5s).status, StepStatus::step);
        std::vector<std::string> notices;
        const NoticeScope scope([&](const std::string& text) { notices.push_back(text); });
        EXPECT_EQ(source.next(1h).status, StepStatus::ended);
        EXPECT_EQ(source.next(1h).status, StepStatus::ended);
        ASSERT_EQ(notices.size(), 1u);
        EXPECT_NE(notices[0].find("has ended without closing them"), std::string::npos);
    });
}

TEST_F(StagingFile, TimesOutWhileTheWriterRuns) {
    const auto writer = engine();
    publish(*writer, group_, 0);
    alone([&] {
        const parallel::CollectiveGroup self = stream_group();
        FileSource source(store_, self, reader_options());
        EXPECT_EQ(source.next(5s).status, StepStatus::step);
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_EQ(source.next(200ms).status, StepStatus::timeout);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 200ms);
    });
}

TEST_F(StagingFile, ContinuesBehindRemovedSteps) {
    store(4);
    alone([&] {
        fs::remove_all(step_path(store_, 0));
        fs::remove_all(step_path(store_, 2));
        const parallel::CollectiveGroup self = stream_group();
        FileSource source(store_, self, reader_options());
        EXPECT_EQ(announced(source.next(5s)).sequence, 1u);
        EXPECT_EQ(announced(source.next(5s)).sequence, 3u);
        EXPECT_EQ(source.next(5s).status, StepStatus::ended);
    });
}

TEST_F(StagingFile, FailsForAReaderWhoseStoreIsOverwrittenOrRemoved) {
    auto writer = engine();
    publish(*writer, group_, 0);
    const parallel::CollectiveGroup self = stream_group();
    FileSource source(store_, self, reader_options());
    FileSource other(store_, self, reader_options());
    EXPECT_EQ(source.next(5s).status, StepStatus::step);
    EXPECT_EQ(other.next(5s).status, StepStatus::step);
    group_.barrier();
    EXPECT_NE(fault([&] { (void)engine(true); }).find("another process is storing there"),
              std::string::npos)
        << "the first writer lives";
    writer.reset();
    writer = engine(true);
    EXPECT_THROW((void)source.next(5s), PeerGone);
    group_.barrier();
    alone([&] { fs::remove_all(store_); });
    EXPECT_THROW((void)other.next(5s), PeerGone);
    group_.barrier();
}

TEST_F(StagingFile, RefusesAReaderOfAnotherStreamAndOneThatFindsNothing) {
    store(1);
    ReaderOptions options = reader_options(0s);
    options.stream = "other";
    EXPECT_NE(fault([&] { FileSource(store_, group_, options); }).find("\"other\""),
              std::string::npos);
    EXPECT_THROW(FileSource(folder_ / "nothing.zarr", group_, reader_options(100ms)), PeerGone);
    alone([&] { write_text(folder_ / "file", "x"); });
    EXPECT_NE(fault([&] {
                  FileSource(folder_ / "file", group_, reader_options(0s));
              }).find("is not a folder"),
              std::string::npos);
}

TEST_F(StagingFile, DoesNotChangeFoldersThatAreNoStores) {
    store(1);
    EXPECT_NE(fault([&] { (void)engine(); }).find("holds stored steps already"), std::string::npos);
    const auto again = engine(true);
    publish(*again, group_, 0);
    alone([&] {
        EXPECT_EQ(left_over(store_), std::vector<std::string>());
        write_text(folder_ / "file", "x");
        make_folder(folder_ / "papers");
        write_text(folder_ / "papers" / "thesis.tex", "x");
    });
    for (const char* name : {"file", "papers"})
        EXPECT_NE(fault([&] {
                      FileEngine("flow", group_, options_for(folder_ / name, true));
                  }).find("choose another folder"),
                  std::string::npos)
            << name;
    EXPECT_TRUE(fs::exists(folder_ / "papers" / "thesis.tex"));
    EXPECT_NE(fault([&] {
                  FileEngine("flow", group_, options_for("/proc/self/flow.zarr"));
              }).find("Cannot make the folder"),
              std::string::npos);
}

TEST_F(StagingFile, RefusesABlockOfTwoRanksAndContinues) {
    const auto writer = engine();
    Blocks blocks = blocks_of(group_.rank(), group_.size(), 0);
    for (auto& block : blocks.step.part.blocks)
        block.id = 7;
    const std::string sentence = fault([&] { writer->publish(std::move(blocks.step)); });
    EXPECT_NE(sentence.find("Block 7"), std::string::npos) << sentence;
    alone([&] { EXPECT_TRUE(left_over(store_).empty()); });
    publish(*writer, group_, 0);
    writer->close();
    alone([&] {
        const parallel::CollectiveGroup self = stream_group();
        FileSource source(store_, self, reader_options());
        EXPECT_EQ(read(source, announced(source.next(5s)), everything()),
                  expected(0, everything()));
        EXPECT_EQ(source.next(5s).status, StepStatus::ended);
    });
}

TEST_F(StagingFile, RefusesAStepThatRanksDescribeDifferentlyAndContinues) {
    if (group_.size() == 1)
        GTEST_SKIP() << "takes two ranks";
    const auto writer = engine();
    Blocks blocks = blocks_of(group_.rank(), group_.size(), 0);
    blocks.step.part.index = group_.rank();
    EXPECT_NE(fault([&] { writer->publish(std::move(blocks.step)); }), "");
    publish(*writer, group_, 0);
    alone([&] { EXPECT_TRUE(left_over(store_).empty()); });
}

/// File system of one MiB if this process may mount one, otherwise a limit on file sizes on the
/// last rank.
class FullDisk {
  public:
    explicit FullDisk(const fs::path& folder) : folder_(folder) {
        if (world_rank() == 0)
            mounted_ = ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
        MPI_Bcast(&mounted_, 1, MPI_C_BOOL, 0, MPI_COMM_WORLD);
    }
    ~FullDisk() {
        MPI_Barrier(MPI_COMM_WORLD);
        if (mounted_ && world_rank() == 0)
            ::umount2(folder_.c_str(), MNT_DETACH);
    }
    [[nodiscard]] bool mounted() const { return mounted_; }

  private:
    fs::path folder_;
    bool mounted_ = false;
};

/// Return a step in which only the last rank has a block too large for such a disk.
LocalStep too_large(const parallel::CollectiveGroup& group, std::vector<double>& memory) {
    Blocks blocks = blocks_of(group.rank(), group.size(), 0);
    LocalStep step{blocks.step.part, {}};
    step.part.blocks.clear();
    if (group.rank() != group.size() - 1)
        return step;
    step.part.topologies[0].elements = Box::of({1, 1, 1 << 18});
    Block block = Block::with_elements({{}, {1, 1, 1 << 18}});
    memory.assign(std::size_t{2} << 18, 1.0);
    StoredArray array;
    const Extent count = block.elements.extents();
    array.layout = interleaved(count, 2, 8);
    block.arrays = {array};
    step.part.blocks = {block};
    step.values = {packed_view(reinterpret_cast<const std::byte*>(memory.data()), count, 2, 8)};
    return step;
}

TEST_F(StagingFile, ReportsAFullDiskOnAllRanksAndContinuesWhenThereIsSpace) {
    alone([&] { make_folder(folder_ / "disk"); });
    const FullDisk disk(folder_ / "disk");
    const fs::path store = folder_ / "disk" / "flow.zarr";
    FileEngine writer("flow", group_, options_for(store));
    publish(writer, group_, 0);

    const bool last = group_.rank() == group_.size() - 1;
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    if (!disk.mounted() && last) {
        const rlimit limit{1 << 20, before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    std::vector<double> memory;
    LocalStep step = too_large(group_, memory);
    const std::string sentence = fault([&] { writer.publish(std::move(step)); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);

    EXPECT_NE(sentence.find(disk.mounted() ? "No space left on device" : "File too large"),
              std::string::npos)
        << sentence;
    EXPECT_NE(sentence.find(store.string()), std::string::npos) << sentence;
    group_.barrier();
    EXPECT_TRUE(left_over(store).empty()) << "the incomplete step is removed";
    group_.barrier();
    publish(writer, group_, 1);
    writer.close();
    alone([&] {
        const parallel::CollectiveGroup self = stream_group();
        FileSource source(store, self, reader_options());
        for (std::uint64_t number = 0; number < 2; ++number)
            EXPECT_EQ(read(source, announced(source.next(5s)), everything()),
                      expected(number, everything()));
        EXPECT_EQ(source.next(5s).status, StepStatus::ended);
    });
}

TEST_F(StagingFile, NamesADamagedOrMissingFile) {
    store(1);
    alone([&] {
        const parallel::CollectiveGroup self = stream_group();
        const fs::path place = array_path(step_path(store_, 0), "velo/city", 0);
        const fs::path chunk = place / "c.0.0.0.0";
        const fs::path json = place / document;
        const fs::path table = step_path(store_, 0) / table_folder / "c.0";
        const auto read_all = [&](bool verify) {
            FileSource source(store_, self, reader_options(1s, verify));
            (void)read(source, announced(source.next(1s)), everything());
        };
        const auto sentence = [&](bool verify = true) { return fault([&] { read_all(verify); }); };
        ASSERT_EQ(sentence(), "");
        const auto try_with = [&](const fs::path& file, const std::string& text,
                                  const std::string& what) {
            const std::string sound = read_text(file);
            write_text(file, text);
            const std::string message = sentence(what == "checksum");
            EXPECT_NE(message.find(file.string()), std::string::npos) << message;
            EXPECT_NE(message.find(what), std::string::npos) << message;
            write_text(file, sound);
        };
        std::string turned = read_text(chunk);
        turned[17] = static_cast<char>(turned[17] ^ 4);
        try_with(chunk, turned, "checksum");
        try_with(chunk, turned.substr(0, turned.size() - 5), "bytes");
        try_with(json, read_text(json).substr(0, 200), "truncated");
        try_with(json, "", "truncated");
        std::string other = read_text(json);
        other.replace(other.find("float64"), 7, "float32");
        try_with(json, other, "was changed");
        turned = read_text(table);
        turned[40] = static_cast<char>(turned[40] ^ 1);
        try_with(table, turned, "checksum");
        try_with(table, "", "bytes");
        try_with(store_ / document, read_text(store_ / document).substr(0, 60), "truncated");
        ASSERT_EQ(sentence(), "") << "all is as it was";

        fs::remove(chunk);
        EXPECT_NE(sentence(false).find(chunk.string()), std::string::npos);
    });
}

} // namespace
} // namespace uzushio::staging::file

namespace uzushio::staging::suite {
namespace {

/// Return the engine file: readers start at the first step in a folder.
TestedEngine stored() {
    TestedEngine tested = by_contact("file");
    tested.write = [](const std::string& stream, MPI_Comm comm, EngineOptions options) {
        options.engine = "file";
        options.file.sync = false; // other tests wait for the disk
        return Writer(stream, comm, options);
    };
    tested.read = [](const std::string&, const std::string& contact, MPI_Comm comm) {
        return Reader(std::filesystem::path(contact).replace_extension(".zarr").string(), comm);
    };
    tested.live = false;
    return tested;
}

INSTANTIATE_TEST_SUITE_P(Engines, StagingSuite, testing::Values(stored()), name_of);

} // namespace
} // namespace uzushio::staging::suite
