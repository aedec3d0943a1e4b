// ranks: 1 2 4
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "staging/notice.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/engines.hpp"
#include "staging/transport/writer_engine.hpp"
#include "staging/writer.hpp"

namespace uzushio::staging {
namespace {

/// Engine that records the steps and the values' bytes.
class Recorder : public WriterEngine {
  public:
    struct Log {
        std::vector<LocalStep> steps;
        std::vector<std::byte> memory; ///< handed out as `buffer`, as far as it goes
        int taken_back = 0;
        int abandoned = 0;
        int closed = 0;
        bool fails = false;
        std::size_t max_table_bytes = std::numeric_limits<std::size_t>::max();
    };
    explicit Recorder(std::shared_ptr<Log> log) : log_(std::move(log)) {}

    std::span<std::byte> buffer(std::size_t bytes) override {
        return std::span(log_->memory).first(std::min(bytes, log_->memory.size()));
    }
    std::optional<std::uint64_t> publish(LocalStep step) override {
        if (log_->fails)
            throw StagingError("The engine failed.");
        log_->steps.push_back(std::move(step));
        return log_->steps.size() - 1;
    }
    [[nodiscard]] std::size_t max_table_bytes() const override { return log_->max_table_bytes; }
    void discard_buffers() override { ++log_->taken_back; }
    void abandon() override { ++log_->abandoned; }
    void close() override { ++log_->closed; }
    [[nodiscard]] QueueCounters counters() const override { return {}; }

  private:
    std::shared_ptr<Log> log_;
};

/// Writer on all ranks with one mesh, two fields, and two blocks on each rank.
struct WriterFixture {
    std::shared_ptr<Recorder::Log> log = std::make_shared<Recorder::Log>();
    parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    Writer writer{"bench", MPI_COMM_WORLD, std::make_unique<Recorder>(log)};
    std::uint64_t first = static_cast<std::uint64_t>(group.rank()) * 2;
    std::vector<double> values = std::vector<double>(4096);

    WriterFixture() {
        writer.uniform_mesh("grid", {{0, 0, 0}, {4, 4, 64}}, {}, {1, 1, 1});
        writer.field("p", "grid", Association::element, ScalarType::float64);
        writer.field("u", "grid", Association::vertex, ScalarType::float64, 3);
        for (std::uint64_t b = first; b < first + 2; ++b)
            writer.block(b, "grid", Box::at({0, 0, static_cast<std::int64_t>(b) * 4}, {4, 4, 4}));
    }
};

std::string message_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const StagingError& error) {
        return error.what();
    }
    return "nothing was thrown";
}

#define EXPECT_SAYS(work, part)                                                                    \
    EXPECT_NE(message_of([&] { work; }).find(part), std::string::npos) << message_of([&] { work; })

TEST(StagingWriter, AnUnchangedDescriptionGivesAnUnchangedTableForAnyOrderOfPuts) {
    WriterFixture fixture;
    Writer& w = fixture.writer;
    w.begin_step(1, 0.5);
    w.put("p", fixture.first, fixture.values.data());
    w.put("u", fixture.first, fixture.values.data());
    w.put("u", fixture.first + 1, fixture.values.data());
    EXPECT_EQ(w.end_step(), 0u);
    w.begin_step(1, 0.5);
    w.block(fixture.first + 1, "grid",
            Box::at({0, 0, static_cast<std::int64_t>(fixture.first) * 4 + 4}, {4, 4, 4}));
    w.put("u", fixture.first + 1, fixture.values.data());
    w.put("u", fixture.first, fixture.values.data());
    w.put("p", fixture.first, fixture.values.data());
    EXPECT_EQ(w.end_step(), 1u);
    EXPECT_EQ(fixture.log->steps.at(0).part, fixture.log->steps.at(1).part);
    EXPECT_EQ(fixture.log->steps[0].values.size(), 3u);
    for (const Block& block : fixture.log->steps[0].part.blocks)
        EXPECT_EQ(block.rank, static_cast<std::uint32_t>(fixture.group.rank()));
}

TEST(StagingWriter, BlocksWithoutValuesAreNotInTheStep) {
    WriterFixture fixture;
    Writer& w = fixture.writer;
    w.begin_step(1, 0);
    w.end_step();
    w.begin_step(2, 0);
    w.put("p", fixture.first + 1, fixture.values.data());
    w.end_step();
    w.remove_block(fixture.first + 1);
    w.begin_step(3, 0);
    w.put("p", fixture.first, fixture.values.data());
    EXPECT_THROW(w.put("p", fixture.first + 1, fixture.values.data()), StagingError);
    w.end_step();
    EXPECT_TRUE(fixture.log->steps.at(0).part.blocks.empty());
    ASSERT_EQ(fixture.log->steps.at(1).part.blocks.size(), 1u);
    EXPECT_EQ(fixture.log->steps[1].part.blocks[0].id, fixture.first + 1);
    ASSERT_EQ(fixture.log->steps.at(2).part.blocks.size(), 1u);
    EXPECT_EQ(fixture.log->steps[2].part.blocks[0].id, fixture.first);
    EXPECT_EQ(fixture.log->steps[2].part.fields.size(), 2u);
}

TEST(StagingWriter, ValuesKeepTheirStridesAndGhostLayers) {
    WriterFixture fixture;
    const Ghosts ghosts{{1, 0, 2}, {0, 1, 1}};
    // Fortran's order: z is contiguous.
    const Extent count{5, 5, 7};
    const ArrayLayout layout{{8, 5 * 8, 25 * 8}, 175 * 8};
    const ConstArrayView view{reinterpret_cast<const std::byte*>(fixture.values.data()), count,
                              layout, 1, 8};
    fixture.writer.begin_step(1, 0);
    fixture.writer.put("p", fixture.first, view, ghosts);
    fixture.writer.end_step();
    const LocalStep& step = fixture.log->steps.at(0);
    EXPECT_EQ(step.part.blocks.at(0).arrays.at(0).ghosts, ghosts);
    EXPECT_EQ(step.part.blocks[0].arrays[0].layout, layout);
    EXPECT_EQ(step.values.at(0).data, view.data);
}

TEST(StagingWriter, MisuseThrowsASentenceWithTheFault) {
    WriterFixture fixture;
    Writer& w = fixture.writer;
    const std::uint64_t b = fixture.first;
    const double* values = fixture.values.data();
    EXPECT_SAYS(w.put("p", b, values), "between begin_step and end_step");
    w.begin_step(1, 0);
    EXPECT_SAYS(w.begin_step(2, 0), "end_step is missing before begin_step");
    EXPECT_SAYS(w.put("q", b, values), "There is no field \"q\": described are \"p\", \"u\".");
    EXPECT_SAYS(w.put("p", 999, values), "This rank has no block 999");
    EXPECT_SAYS(w.put("p", b, nullptr), "null pointer");
    const auto* bytes = reinterpret_cast<const std::byte*>(values);
    EXPECT_SAYS(
        w.put("p", b, packed_view(bytes, {4, 4, 5}, 1, 8)),
        "are 4 x 4 x 5 (along z, y, x), but its elements with these ghost layers are 4 x 4 x 4");
    EXPECT_SAYS(w.put("p", b, packed_view(bytes, {4, 4, 4}, 1, 8), {{}, {0, 0, 1}}),
                "are 4 x 4 x 4 (along z, y, x), but its elements with these ghost layers are "
                "4 x 4 x 5");
    EXPECT_SAYS(w.put("u", b, packed_view(bytes, {4, 4, 4}, 3, 8)), "but its vertices");
    EXPECT_SAYS(w.put("u", b, packed_view(bytes, {5, 5, 5}, 1, 8)), "but the field has 3");
    EXPECT_SAYS(w.put("p", b, packed_view(bytes, {4, 4, 4}, 1, 4)), "but the field is of float64");
    w.put("p", b, values);
    EXPECT_SAYS(w.put("p", b, values), "put them once");
    EXPECT_SAYS(static_cast<void>(w.buffer("p", b)), "put them once");
    EXPECT_SAYS(w.remove_block(b), "change it after end_step");
    EXPECT_SAYS(w.block(b, "grid", {{0, 0, 0}, {1, 1, 1}}), "change it after end_step");
    EXPECT_SAYS(w.field("p", "grid", Association::vertex, ScalarType::float64),
                "change it after end_step");
    EXPECT_SAYS(w.uniform_mesh("grid", {{0, 0, 0}, {9, 9, 64}}, {}, {1, 1, 1}),
                "change it after end_step");
    w.field("p", "grid", Association::element,
            ScalarType::float64); // the same description again is allowed
    EXPECT_SAYS(w.field("q", "grit", Association::vertex, ScalarType::uint8),
                "There is no mesh \"grit\": described are \"grid\".");
    EXPECT_SAYS(w.field("q", "grid", Association::vertex, ScalarType::uint8, 0), "components");
    EXPECT_SAYS(w.block(999, "grid", {{0, 0, 0}, {4, 4, 65}}), "reaches out of mesh \"grid\"");
    EXPECT_SAYS(w.rectilinear_mesh("lines", {{0, 0, 0}, {1, 2, 3}}, {{{0, 1}, {0, 1, 2}, {0, 1}}}),
                "has 4 vertices along x, but 2 coordinates");
    EXPECT_SAYS(w.uniform_mesh("plane", {{0, 0, 0}, {2, 2, 2}}, {}, {}, 2), "2 dimensions");
    w.uniform_mesh("other", {{0, 0, 0}, {4, 4, 4}}, {}, {1, 1, 1});
    w.field("v", "other", Association::element, ScalarType::float64);
    EXPECT_SAYS(w.put("v", b, values), "Field \"v\" is on mesh \"other\", but block");
    EXPECT_SAYS(w.on_step([](Reader&) {}), "inproc");
    EXPECT_EQ(w.end_step(), 0u) << "errors do not change the writer";
    EXPECT_EQ(fixture.log->steps.at(0).values.size(), 1u);
}

TEST(StagingWriter, AStepThatOneRankCannotPublishFailsOnAllAndTheNextOneWorks) {
    WriterFixture fixture;
    Writer& w = fixture.writer;
    const bool last = fixture.group.rank() == fixture.group.size() - 1;
    // Values that overlap each other cannot be described.
    ConstArrayView bad =
        packed_view(reinterpret_cast<const std::byte*>(fixture.values.data()), {4, 4, 4}, 1, 8);
    bad.layout.strides[0] = 8;
    w.begin_step(1, 0);
    if (last)
        w.put("p", fixture.first, bad);
    else
        w.put("p", fixture.first, fixture.values.data());
    EXPECT_EQ(message_of([&] { w.end_step(); }),
              "The array of field \"p\" on block " + std::to_string(2 * fixture.group.size() - 2) +
                  " has strides with which its values overlap or exceed memory.");
    EXPECT_TRUE(fixture.log->steps.empty()) << "no rank may enter the engine";

    if (!last)
        w.begin_step(2, 0);
    EXPECT_NE(message_of([&] { w.end_step(); }).find("between begin_step and end_step"),
              std::string::npos);
    w.begin_step(3, 0);
    w.put("p", fixture.first, fixture.values.data());
    EXPECT_EQ(w.end_step(), 0u);
}

TEST(StagingWriter, ATableThatIsTooLargeIsRefusedBeforeItsValuesArePut) {
    WriterFixture f;
    f.log->max_table_bytes = 4000; // a block with one array takes 173 bytes at least: 23 blocks
    std::uint64_t count = 2;
    const auto describe = [&] {
        for (; count < 1000; ++count)
            f.writer.block(f.first + 100 * count, "grid", {{0, 0, 0}, {1, 1, 1}},
                           Association::element);
    };
    try {
        describe();
        FAIL() << "no exception";
    } catch (const StagingError& error) {
        EXPECT_NE(std::string(error.what()).find("use fewer or larger blocks"), std::string::npos);
    }
    EXPECT_EQ(count, 23u);
}

TEST(StagingWriter, AStepWithoutValuesIsNoticedOnceOnRank0) {
    WriterFixture f;
    std::vector<std::string> notices;
    const NoticeScope scope([&](const std::string& text) { notices.push_back(text); });
    for (int step = 0; step < 3; ++step) {
        f.writer.begin_step(step, 0.0);
        (void)f.writer.end_step();
    }
    ASSERT_EQ(notices.size(), f.group.rank() == 0 ? 1u : 0u);
    for (const std::string& text : notices)
        EXPECT_EQ(text, "Step 0 of the stream \"bench\" has no values: nothing was put into "
                        "it on any rank.");
}

TEST(StagingWriter, RanksAtDifferentStepsThrow) {
    WriterFixture fixture;
    const bool last = fixture.group.rank() == fixture.group.size() - 1;
    fixture.writer.begin_step(last ? -3 : 7, 0);
    const std::string message = message_of([&] { fixture.writer.end_step(); });
    if (fixture.group.size() > 1) {
        EXPECT_EQ(message, "Ranks publish steps -3 and 7 as one: all must publish the same step.");
        EXPECT_TRUE(fixture.log->steps.empty());
    }
}

TEST(StagingWriter, AnEngineThatFailsLeavesNoStepOpen) {
    WriterFixture fixture;
    fixture.log->fails = true;
    fixture.writer.begin_step(1, 0);
    fixture.writer.put("p", fixture.first, fixture.values.data());
    EXPECT_EQ(message_of([&] { fixture.writer.end_step(); }), "The engine failed.");
    fixture.log->fails = false;
    fixture.writer.begin_step(2, 0);
    fixture.writer.put("p", fixture.first, fixture.values.data());
    EXPECT_EQ(fixture.writer.end_step(), 0u);
}

TEST(StagingWriter, BuffersAreTheEnginesOrTheSameMemoryInEachStep) {
    WriterFixture fixture;
    Writer& w = fixture.writer;
    std::vector<std::byte*> before;
    for (int step = 0; step < 3; ++step) {
        w.begin_step(step, 0);
        const ArrayView a = w.buffer("p", fixture.first);
        const ArrayView b = w.buffer("u", fixture.first, {{1, 1, 1}, {1, 1, 1}});
        const std::vector<std::byte*> now{std::min(a.data, b.data), std::max(a.data, b.data)};
        EXPECT_EQ(a.count, (Extent{4, 4, 4}));
        EXPECT_EQ(b.count, (Extent{7, 7, 7}));
        EXPECT_EQ(b.components, 3);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data) % 64, 0u);
        std::fill_n(a.data, a.bytes(), std::byte{1}); // sanitizers detect freed memory
        std::fill_n(b.data, b.bytes(), std::byte{2});
        w.end_step();
        EXPECT_EQ(fixture.log->steps.back().values.at(0).data, a.data);
        EXPECT_EQ(fixture.log->steps.back().values.at(1).data, b.data);
        if (step > 0) {
            EXPECT_EQ(now, before) << "memory must be reused";
        }
        before = now;
    }
    fixture.log->memory.resize(64 * 8);
    w.begin_step(9, 0);
    EXPECT_EQ(w.buffer("p", fixture.first).data, fixture.log->memory.data());
    EXPECT_NE(w.buffer("u", fixture.first).data, fixture.log->memory.data())
        << "the engine's memory is too small for it";
    w.end_step();
}

TEST(StagingWriter, AStepCancelledByOneRankEndsOnAllAndTheNextIsPublished) {
    WriterFixture fixture;
    Writer& w = fixture.writer;
    const parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    const int guilty = group.size() - 1;
    w.begin_step(1, 0);
    w.put("p", fixture.first, fixture.values.data());
    if (group.rank() == guilty)
        EXPECT_NO_THROW(w.cancel_step("no more wind"));
    else
        EXPECT_EQ(message_of([&] { w.end_step(); }),
                  "Step 1 was cancelled on rank " + std::to_string(guilty) + ": no more wind.");
    EXPECT_TRUE(fixture.log->steps.empty());
    EXPECT_EQ(fixture.log->taken_back, 1);
    w.begin_step(2, 0);
    w.put("p", fixture.first, fixture.values.data());
    w.end_step();
    ASSERT_EQ(fixture.log->steps.size(), 1u);
    EXPECT_EQ(fixture.log->steps[0].part.index, 2);
    EXPECT_EQ(fixture.log->steps[0].values.size(), 1u);
    EXPECT_EQ(message_of([&] { w.cancel_step("nothing"); }),
              "cancel_step belongs between begin_step and end_step.");
}

TEST(StagingWriter, ClosesOnceAndPublishesNoStepAfterwards) {
    WriterFixture fixture;
    Writer& w = fixture.writer;
    w.begin_step(1, 0);
    EXPECT_EQ(message_of([&] { w.close(); }), "Step 1 is open: end_step is missing before close.");
    w.end_step();
    w.close();
    w.close();
    EXPECT_EQ(fixture.log->closed, 1);
    EXPECT_THROW(w.begin_step(2, 0), StagingError);
    EXPECT_THROW(w.end_step(), StagingError);
}

TEST(StagingWriter, AnAbandonedStreamIsClosedButItsMemoryIsKept) {
    WriterFixture fixture;
    Writer& w = fixture.writer;
    w.begin_step(1, 0);
    const ArrayView memory = w.buffer("p", fixture.first);
    w.abandon();
    w.abandon();
    w.close();
    EXPECT_EQ(fixture.log->abandoned, 1);
    EXPECT_EQ(fixture.log->closed, 0);
    std::fill_n(memory.data, memory.bytes(), std::byte{1}); // sanitizers detect freed memory
    EXPECT_THROW(w.begin_step(2, 0), StagingError);
}

TEST(StagingWriter, ACurvilinearMeshAddsItsCoordinatesAsAField) {
    WriterFixture fixture;
    fixture.writer.curvilinear_mesh("wing", {{0, 0, 0}, {1, 2, 3}}, "points", ScalarType::float32);
    fixture.writer.block(100 + fixture.first, "wing", {{0, 0, 0}, {1, 2, 3}});
    fixture.writer.begin_step(1, 0);
    fixture.writer.put("points", 100 + fixture.first, fixture.values.data());
    fixture.writer.end_step();
    const StepInfo& part = fixture.log->steps.at(0).part;
    const Field& points = part.fields.at(find_field(part, "points").value());
    EXPECT_EQ(points.components, 3u);
    EXPECT_EQ(points.association, Association::vertex);
    EXPECT_EQ(fixture.log->steps[0].values.at(0).count, (Extent{2, 3, 4}));
}

TEST(StagingWriter, AnUnknownEngineIsReportedWithTheKnownOnes) {
    EngineOptions options;
    options.engine = "pigeon";
    const std::string message = message_of([&] { Writer("stream", MPI_COMM_WORLD, options); });
    EXPECT_NE(message.find("\"pigeon\""), std::string::npos) << message;
    for (const std::string& name : engine_names())
        EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_SAYS(Writer("", MPI_COMM_WORLD, options), "A stream needs a name.");
}

} // namespace
} // namespace uzushio::staging
