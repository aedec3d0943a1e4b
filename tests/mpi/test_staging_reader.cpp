// ranks: 1 2 3 4
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>

#include "staging/datamodel/copy.hpp"
#include "staging/queue/queue_timeout.hpp"
#include "staging/reader.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/step_source.hpp"
#include "staging/wire/checksum.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/select.hpp"

namespace uzushio::staging {
namespace {

using Clock = std::chrono::steady_clock;

/// Script of a source, and a record of its calls.
struct Script {
    std::vector<std::vector<std::byte>> messages; ///< one for each `next`, then it has ended
    std::vector<std::byte> segment;               ///< of the only rank of the writer
    bool mapped = true;                           ///< else it is fetched
    std::function<void()> on_next = [] {}, on_begin = [] {}, on_end = [] {}, on_release = [] {},
                          on_fetch = [] {};
    std::vector<std::uint64_t> released;
    std::size_t fetched = 0; ///< pieces
    int begun = 0, ended = 0, destroyed = 0;
};

class ScriptedSource : public StepSource {
  public:
    explicit ScriptedSource(std::shared_ptr<Script> script) : script_(std::move(script)) {}
    ~ScriptedSource() override { ++script_->destroyed; }

    AnnouncedStep next(std::chrono::nanoseconds) override {
        script_->on_next();
        if (at_ == script_->messages.size())
            return {StepStatus::ended, nullptr};
        return {StepStatus::step,
                std::make_shared<const std::vector<std::byte>>(script_->messages[at_++])};
    }
    void begin(const Announce&) override {
        ++script_->begun;
        script_->on_begin();
    }
    void fetch(const Announce& step, std::span<const Fetch> wanted,
               std::chrono::nanoseconds) override {
        script_->on_fetch();
        for (const Fetch& fetch : wanted) {
            copy(select(step.step, fetch.rank, fetch.request, script_->segment), fetch.to);
            ++script_->fetched;
        }
    }
    std::span<const std::byte> segment(const Announce&, std::uint32_t) override {
        if (!script_->mapped)
            return {};
        return script_->segment;
    }
    void end(const Announce&) override {
        ++script_->ended;
        script_->on_end();
    }
    void release(std::uint64_t sequence) override {
        script_->released.push_back(sequence);
        script_->on_release();
    }

  private:
    std::shared_ptr<Script> script_;
    std::size_t at_ = 0;
};

constexpr Extent box_count{2, 3, 4};

/// Return an announce of one block of float64 with one upper ghost layer along x, 16 bytes from the
/// start of its segment.
Announce one_block(const std::vector<std::byte>& segment) {
    Announce announce;
    announce.step.coordsets = {{"grid", UniformCoords{}}};
    announce.step.topologies = {{"grid", 0, 3, {{0, 0, 0}, {2, 3, 9}}}};
    announce.step.fields = {{"p", 0, Association::element, ScalarType::float64, 1, {}}};
    Block block = Block::with_elements({{0, 0, 0}, box_count});
    block.id = 5;
    StoredArray array;
    array.offset = 16;
    array.ghosts.upper[2] = 1;
    array.layout = interleaved({2, 3, 5}, 1, 8);
    block.arrays = {array};
    announce.step.blocks = {block};
    const ConstArrayView values = view_of(announce.step, announce.step.blocks[0], array, segment);
    announce.step.blocks[0].arrays[0].checksum = checksum(values);
    return announce;
}

std::shared_ptr<Script> good_script(std::size_t steps) {
    auto script = std::make_shared<Script>();
    script->segment.resize(16 + 30 * 8);
    for (std::size_t i = 0; i < 30; ++i) {
        const auto value = static_cast<double>(i) + 0.25;
        std::memcpy(script->segment.data() + 16 + 8 * i, &value, sizeof value);
    }
    Announce announce = one_block(script->segment);
    for (std::size_t s = 0; s < steps; ++s) {
        announce.sequence = s;
        announce.step.index = static_cast<std::int64_t>(s) * 10;
        script->messages.push_back(encode(Message(announce)));
    }
    return script;
}

Reader make_reader(const std::shared_ptr<Script>& script) {
    return {std::make_unique<ScriptedSource>(script), MPI_COMM_WORLD};
}

constexpr std::chrono::seconds limit{5};

std::string message_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const StagingError& error) {
        return error.what();
    }
    return "nothing was thrown";
}

TEST(StagingReader, StepsArriveInOrderAreReleasedOnceAndEnd) {
    const auto script = good_script(3);
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    {
        Reader reader = make_reader(script);
        EXPECT_EQ(message_of([&] { static_cast<void>(reader.step()); }),
                  "There is no step: call next first, and continue if it returns a step.");
        reader.release(); // nothing yet
        for (std::uint64_t s = 0; s < 3; ++s) {
            ASSERT_EQ(reader.next(limit), StepStatus::step);
            EXPECT_EQ(reader.sequence(), s);
            EXPECT_EQ(reader.step().index, static_cast<std::int64_t>(s) * 10);
            if (s == 1) {
                reader.release();
                reader.release();
            }
        }
        EXPECT_EQ(reader.next(limit), StepStatus::ended);
        EXPECT_EQ(reader.next(limit), StepStatus::ended);
        reader.detach();
        reader.detach();
        EXPECT_EQ(script->destroyed, 1);
        EXPECT_EQ(reader.next(limit), StepStatus::detached);
        EXPECT_THROW(static_cast<void>(reader.step()), StagingError);
        EXPECT_THROW(static_cast<void>(reader.view("p", 0)), StagingError);
    }
    const auto on_root = std::vector<std::uint64_t>{0, 1, 2};
    EXPECT_EQ(script->released, group.rank() == 0 ? on_root : std::vector<std::uint64_t>{});
    EXPECT_EQ(script->begun, 3);
    EXPECT_EQ(script->ended, 3);
    EXPECT_EQ(script->destroyed, 1);
}

TEST(StagingReader, AStepIsReleasedOnlyAfterAllRanksHaveEndedIt) {
    const auto script = good_script(2);
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    Clock::time_point last_end, released;
    script->on_end = [&] {
        if (group.rank() == group.size() - 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(60));
        last_end = Clock::now();
    };
    script->on_release = [&] { released = Clock::now(); };
    Reader reader = make_reader(script);
    ASSERT_EQ(reader.next(limit), StepStatus::step);
    ASSERT_EQ(reader.next(limit), StepStatus::step);
    const auto ticks = [](Clock::time_point t) {
        return static_cast<std::uint64_t>(t.time_since_epoch().count());
    };
    const std::uint64_t end_of_all = group.max(ticks(last_end));
    if (group.rank() == 0) {
        EXPECT_GE(ticks(released), end_of_all); // one machine, one monotonic clock
    }
}

TEST(StagingReader, CopiesVisibleMemoryAndFetchesOtherPieces) {
    for (const bool mapped : {true, false}) {
        const auto script = good_script(1);
        script->mapped = mapped;
        Reader reader = make_reader(script);
        ASSERT_EQ(reader.next(limit), StepStatus::step);
        std::vector<double> got(2 * 3 * 6, -1);
        const ArrayView to = packed_view(reinterpret_cast<std::byte*>(got.data()), {2, 3, 6}, 1, 8);
        const auto missing = reader.read("p", Box::at({0, 0, 1}, {2, 3, 6}), to);
        ASSERT_EQ(missing.size(), 1u);
        EXPECT_EQ(missing[0], (Box::at({0, 0, 5}, {2, 3, 2})));
        for (std::size_t row = 0; row < 6; ++row)
            for (std::size_t x = 0; x < 6; ++x)
                EXPECT_EQ(got[row * 6 + x],
                          x < 4 ? static_cast<double>(row * 5 + x + 1) + 0.25 : -1.0);
        EXPECT_EQ(script->fetched, mapped ? 0u : 2u); // the owned part, and a ghost layer

        const auto view = reader.view("p", 0);
        EXPECT_EQ(view.has_value(), mapped);
        if (view) {
            EXPECT_EQ(view->data, script->segment.data() + 16);
        }
        EXPECT_TRUE(reader.verify("p", 0));
        script->segment[16 + 8 * 29] ^= std::byte{1}; // in the ghost layer
        EXPECT_FALSE(reader.verify("p", 0));
    }
}

TEST(StagingReader, MisuseThrowsASentence) {
    Reader reader = make_reader(good_script(1));
    ASSERT_EQ(reader.next(limit), StepStatus::step);
    std::vector<double> memory(64);
    auto* bytes = reinterpret_cast<std::byte*>(memory.data());
    const Box box{{0, 0, 0}, {2, 3, 4}};
    const auto says = [&](const char* field, const Box& wanted, const ArrayView& to) {
        return message_of([&] { reader.read(field, wanted, to); });
    };
    const ArrayView good = packed_view(bytes, {2, 3, 4}, 1, 8);
    EXPECT_EQ(says("q", box, good), "The step has no field \"q\". It has \"p\".");
    EXPECT_NE(says("p", box, packed_view(bytes, {2, 3, 5}, 1, 8)).find("has the shape"),
              std::string::npos);
    EXPECT_NE(says("p", box, packed_view(bytes, {2, 3, 4}, 2, 8)).find("the field has 1"),
              std::string::npos);
    EXPECT_NE(says("p", box, packed_view(bytes, {2, 3, 4}, 1, 4)).find("of float64"),
              std::string::npos);
    EXPECT_NE(says("p", box, packed_view<std::byte>(nullptr, {2, 3, 4}, 1, 8)).find("null"),
              std::string::npos);
    EXPECT_NE(says("p", {{0, 0, 0}, {-1, 3, 4}}, good).find("is not valid"), std::string::npos);
    EXPECT_EQ(message_of([&] { reader.read_block("p", 1, true, good); }),
              "The step has no block of the number 1: it has 1.");
    EXPECT_NE(message_of([&] { reader.read_block("p", 0, true, good); }).find("has the shape"),
              std::string::npos)
        << "with its ghost layer the block is larger";
    reader.read_block("p", 0, false, good);
    EXPECT_EQ(memory[23], 28.25);
}

TEST(StagingReader, AnInvalidAnnounceEndsTheReaderOnAllRanks) {
    Announce stranger = one_block(good_script(1)->segment);
    stranger.places.resize(1);
    stranger.step.blocks[0].rank = 1;
    std::vector<std::byte> cut = good_script(1)->messages[0];
    cut.resize(cut.size() - 1);
    std::vector<std::byte> turned = good_script(1)->messages[0];
    turned[turned.size() / 2] ^= std::byte{4};
    for (const auto& message : {encode(Message(stranger)), encode(Message(Hello{})), cut, turned,
                                std::vector<std::byte>(7)}) {
        const auto script = good_script(2);
        script->messages[0] = message;
        Reader reader = make_reader(script);
        EXPECT_THROW(static_cast<void>(reader.next(limit)), StagingError);
        EXPECT_EQ(script->destroyed, 1);
        EXPECT_EQ(reader.next(limit), StepStatus::detached);
    }
}

TEST(StagingReader, ASegmentSmallerThanItsTableIsNotRead) {
    const auto script = good_script(1);
    script->segment.resize(100);
    Reader reader = make_reader(script);
    ASSERT_EQ(reader.next(limit), StepStatus::step);
    std::vector<double> memory(24);
    const ArrayView to = packed_view(reinterpret_cast<std::byte*>(memory.data()), box_count, 1, 8);
    EXPECT_THROW(reader.read("p", {{}, box_count}, to), StagingError);
    EXPECT_THROW(reader.read_block("p", 0, false, to), StagingError);
    EXPECT_THROW(static_cast<void>(reader.view("p", 0)), StagingError);
    EXPECT_THROW(static_cast<void>(reader.verify("p", 0)), StagingError);
}

TEST(StagingReader, AnErrorOfOneRankIsThrownOnAllWithTheSameType) {
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    const bool last = group.rank() == group.size() - 1;
    {
        const auto script = good_script(1);
        script->on_next = [] { throw PeerGone("The writer is gone."); };
        Reader reader = make_reader(script);
        EXPECT_THROW(static_cast<void>(reader.next(limit)), PeerGone);
        script->on_next = [] {};
        EXPECT_EQ(reader.next(limit), StepStatus::step)
            << "the source decides whether the stream continues";
        script->on_release = [] { throw PeerSilent("The writer is silent."); };
        EXPECT_THROW(reader.release(), PeerSilent);
    }
    {
        const auto script = good_script(1);
        script->on_begin = [&] {
            if (last)
                throw StagingError("The memory cannot be mapped.");
        };
        Reader reader = make_reader(script);
        EXPECT_EQ(message_of([&] { static_cast<void>(reader.next(limit)); }),
                  "The memory cannot be mapped.");
        EXPECT_EQ(reader.next(limit), StepStatus::detached);
    }
    {
        const auto script = good_script(2);
        script->on_end = [&] {
            if (last)
                throw PeerGone("A rank of the writer is gone.");
        };
        Reader reader = make_reader(script);
        EXPECT_EQ(reader.next(limit), StepStatus::step);
        EXPECT_THROW(static_cast<void>(reader.next(limit)), PeerGone);
    }
}

TEST(StagingReader, AReadThatFailsOnOneRankEndsTheOthersInNextWithItsReason) {
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    const int last = group.size() - 1;
    std::vector<double> memory(24);
    const ArrayView to = packed_view(reinterpret_cast<std::byte*>(memory.data()), box_count, 1, 8);
    const Box whole{{}, box_count};
    for (const bool silent : {true, false}) { // a writer that does not answer, a wrong name
        const std::string error =
            silent ? "Rank 0 does not answer." : "The step has no field \"q\". It has \"p\".";
        const auto script = good_script(2);
        script->mapped = false;
        if (group.rank() == last && silent)
            script->on_fetch = [&] { throw PeerSilent(error); };
        bool same_type = true;
        const std::string text = message_of([&] {
            Reader reader = make_reader(script);
            ASSERT_EQ(reader.next(limit), StepStatus::step);
            try {
                reader.read(group.rank() == last && !silent ? "q" : "p", whole, to);
                EXPECT_EQ(memory[23], 28.25);
                (void)reader.next(limit);
            } catch (const StagingError& thrown) {
                same_type = silent == (dynamic_cast<const PeerSilent*>(&thrown) != nullptr);
                throw;
            }
        });
        EXPECT_EQ(text, group.rank() == last ? error
                                             : "Rank " + std::to_string(last) +
                                                   " of this reader has aborted: " + error);
        EXPECT_TRUE(same_type);
        group.barrier();
    }
}

TEST(StagingReader, ARankThatCatchesTheErrorOfAReadGoesOnWithTheOthers) {
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    const auto script = good_script(2);
    script->mapped = false;
    if (group.rank() == group.size() - 1)
        script->on_fetch = [] { throw PeerSilent("Rank 0 does not answer."); };
    Reader reader = make_reader(script);
    ASSERT_EQ(reader.next(limit), StepStatus::step);
    std::vector<double> memory(24);
    const ArrayView to = packed_view(reinterpret_cast<std::byte*>(memory.data()), box_count, 1, 8);
    const auto error = message_of([&] { reader.read("p", {{}, box_count}, to); });
    EXPECT_EQ(error == "nothing was thrown", group.rank() != group.size() - 1);
    script->on_fetch = [] {};
    ASSERT_EQ(reader.next(limit), StepStatus::step);
    reader.read("p", {{}, box_count}, to);
    EXPECT_EQ(memory[23], 28.25);
    EXPECT_EQ(reader.next(limit), StepStatus::ended);
}

TEST(StagingReader, AProcessAloneNeedsNoMpi) {
    Reader reader(std::make_unique<ScriptedSource>(good_script(1)), MPI_COMM_NULL);
    EXPECT_EQ(reader.next(limit), StepStatus::step);
    EXPECT_EQ(reader.next(limit), StepStatus::ended);
}

} // namespace
} // namespace uzushio::staging
