// ranks: 1 2 4
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "staging/checksum.hpp"
#include "staging/copy.hpp"
#include "staging/message_codec.hpp"
#include "staging/queue_timeout.hpp"
#include "staging/slots/heap_segment.hpp"
#include "staging/slots/slot_engine.hpp"
#include "staging/staging_error.hpp"
#include "support/fake_service.hpp"

namespace uzushio::staging::slots {
namespace {

using namespace std::chrono_literals;
using test::Served;

constexpr auto long_enough = 60s;

/// A step of one rank: a block of n x 3 x 5 elements with u (double, a ghost layer along z) and w
/// (float, three components apart from each other), and the memory that a solver has them in.
struct Solver {
    Solver(const Team& team, std::int64_t n) : rank(team.rank()), ranks(team.size()), depth(n) {
        u.resize(static_cast<std::size_t>((n + 2) * 3 * 5));
        w.resize(static_cast<std::size_t>(3 * n * 3 * 5));
    }

    static double u_of(std::int64_t step, int rank, std::size_t i) {
        return static_cast<double>(step) + 1000.0 * rank + 1e-3 * static_cast<double>(i);
    }
    static float w_of(std::int64_t step, int rank, std::size_t i) {
        return static_cast<float>(-u_of(step, rank, i));
    }
    void compute(std::int64_t step) const {
        for (std::size_t i = 0; i < u.size(); ++i)
            u_memory()[i] = u_of(step, rank, i);
        for (std::size_t i = 0; i < w.size(); ++i)
            w_memory()[i] = w_of(step, rank, i);
    }
    double* u_memory() const { return in_u != nullptr ? in_u : const_cast<double*>(u.data()); }
    float* w_memory() const { return in_w != nullptr ? in_w : const_cast<float*>(w.data()); }

    LocalStep step(std::int64_t index) const {
        compute(index);
        LocalStep local;
        local.part.index = index;
        local.part.time = 0.5 * static_cast<double>(index);
        local.part.attributes = {{"dt", 1.0 / static_cast<double>(index + 1)}};
        local.part.coordsets = {{"mesh", UniformCoords{}}};
        local.part.topologies = {{"mesh", 0, 3, {{}, {100, 3, 5 * ranks}}}};
        local.part.fields = {{"u", 0, Association::element, ScalarType::float64, 1, {}},
                             {"w", 0, Association::element, ScalarType::float32, 3, {}}};
        Block block = Block::with_elements({{1, 0, 5 * rank}, {depth, 3, 5}});
        block.id = static_cast<std::uint64_t>(rank);
        block.arrays.resize(2);
        block.arrays[0].field = 0;
        block.arrays[0].ghosts.lower[0] = block.arrays[0].ghosts.upper[0] = 1;
        block.arrays[1].field = 1;
        local.part.blocks = {block};
        local.values = {
            packed_view(reinterpret_cast<const std::byte*>(u_memory()), {depth + 2, 3, 5}, 1, 8),
            {reinterpret_cast<const std::byte*>(w_memory()),
             {depth, 3, 5},
             planar({depth, 3, 5}, 4),
             3,
             4}};
        return local;
    }
    [[nodiscard]] std::size_t bytes() const { return u.size() * 8 + w.size() * 4; }

    int rank, ranks;
    std::int64_t depth;
    std::vector<double> u;
    std::vector<float> w;
    double* in_u = nullptr; ///< elsewhere than in `u`
    float* in_w = nullptr;
};

struct Writer {
    explicit Writer(const EngineOptions& given, MakeSegment make = make_heap_segment)
        : options(given),
          engine(team, options, std::move(make), fake_service(team.rank(), served)) {}

    /// This rank's values of a step are where the service finds them.
    void expect_held(std::uint64_t sequence, std::int64_t index, const Solver& solver) const {
        const auto step = served->held->find(sequence);
        ASSERT_NE(step, nullptr) << sequence;
        ASSERT_EQ(step->part->blocks.size(), 1u);
        const Block& block = step->part->blocks[0];
        EXPECT_EQ(block.rank, static_cast<std::uint32_t>(team.rank()));
        const auto memory = step->segment->bytes();
        std::vector<double> u(solver.u.size());
        auto view = view_of(*step->part, block, block.arrays[0], memory);
        copy(view, packed_view(reinterpret_cast<std::byte*>(u.data()), view.count, 1, 8));
        std::vector<float> w(solver.w.size());
        view = view_of(*step->part, block, block.arrays[1], memory);
        copy(view,
             {reinterpret_cast<std::byte*>(w.data()), view.count, planar(view.count, 4), 3, 4});
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < u.size(); ++i)
            wrong += u[i] != Solver::u_of(index, team.rank(), i);
        for (std::size_t i = 0; i < w.size(); ++i)
            wrong += w[i] != Solver::w_of(index, team.rank(), i);
        EXPECT_EQ(wrong, 0u);
    }

    Team team{MPI_COMM_WORLD};
    EngineOptions options;
    std::shared_ptr<Served> served = std::make_shared<Served>();
    SlotEngine engine;
};

EngineOptions options(QueuePolicy policy, std::size_t depth) {
    EngineOptions options;
    options.queue.policy = policy;
    options.queue.depth = depth;
    options.queue.time_limit = long_enough;
    return options;
}

Announce decoded(const std::shared_ptr<void>& payload) {
    const auto& bytes = *std::static_pointer_cast<Announcement>(payload);
    const std::span all(bytes);
    const Frame frame = decode_frame(all.first<Frame::size>());
    EXPECT_EQ(frame.length + Frame::size, bytes.size());
    return std::get<Announce>(staging::decode(frame, all.subspan(Frame::size)));
}

/// A reader at rank 0's queue; elsewhere nothing.
std::optional<QueueReader> reader_of(const Writer& writer) {
    if (writer.served->queue == nullptr)
        return std::nullopt;
    return writer.served->queue->attach();
}

TEST(StagingSlots, AStepIsHeldByItsRankAndAnnouncedAsAWhole) {
    Writer writer(options(QueuePolicy::block, 3));
    Solver solver(writer.team, 4 + writer.team.rank());
    auto reader = reader_of(writer);
    for (std::int64_t i = 0; i < 3; ++i)
        EXPECT_EQ(writer.engine.publish(solver.step(10 + i)), static_cast<std::uint64_t>(i));
    for (std::int64_t i = 0; i < 3; ++i) {
        const auto sequence = static_cast<std::uint64_t>(i);
        writer.expect_held(sequence, 10 + i, solver);
        if (!reader)
            continue;
        const Delivery delivery = reader->next(0s);
        ASSERT_TRUE(delivery);
        const Solver largest(writer.team, 3 + writer.team.size());
        EXPECT_EQ(delivery.bytes, aligned(largest.u.size() * 8) + largest.w.size() * 4)
            << "of the rank that has most";
        const Announce announce = decoded(delivery.payload);
        EXPECT_EQ(announce.sequence, sequence);
        EXPECT_TRUE(announce.places.empty()) << "the heap has none";
        EXPECT_EQ(announce.step.index, 10 + i);
        EXPECT_EQ(announce.step.time, 0.5 * static_cast<double>(10 + i));
        EXPECT_EQ(announce.step.attributes,
                  (std::vector<Attribute>{{"dt", 1.0 / static_cast<double>(11 + i)}}));
        ASSERT_EQ(announce.step.blocks.size(), static_cast<std::size_t>(writer.team.size()));
        for (std::uint32_t rank = 0; rank < announce.step.blocks.size(); ++rank) {
            EXPECT_EQ(announce.step.blocks[rank].rank, rank);
            EXPECT_EQ(announce.step.blocks[rank].id, rank);
        }
    }
    const auto step = writer.served->held->find(2);
    ASSERT_NE(step, nullptr);
    EXPECT_EQ(step->first_block, static_cast<std::uint32_t>(writer.team.rank()));
    PieceRequest request;
    request.block = static_cast<std::uint32_t>(writer.team.rank());
    request.source = {{1, 0, 0}, {1, 1, 1}};
    double value = 0;
    std::memcpy(&value, select(*step, request.block, request).data, sizeof value);
    EXPECT_EQ(value, Solver::u_of(12, writer.team.rank(), 15)) << "first behind the ghosts";
}

TEST(StagingSlots, WhereReadersReachTheRanksIsKnownToAllOfThem) {
    Writer writer(options(QueuePolicy::block, 1));
    if (writer.team.rank() == 0) {
        ASSERT_EQ(writer.served->opened.ranks.size(), static_cast<std::size_t>(writer.team.size()));
        for (int rank = 0; rank < writer.team.size(); ++rank)
            EXPECT_EQ(writer.served->opened.ranks[static_cast<std::size_t>(rank)].address,
                      "rank:" + std::to_string(rank));
    } else {
        EXPECT_EQ(writer.served->queue, nullptr);
    }
}

TEST(StagingSlots, ADroppedStepIsDroppedOnAllRanksAndCopiedOnNone) {
    Writer writer(options(QueuePolicy::drop_newest, 1));
    Solver solver(writer.team, 8);
    auto reader = reader_of(writer);
    EXPECT_EQ(writer.engine.publish(solver.step(0)), 0u);
    const auto copied = writer.engine.bytes_copied();
    EXPECT_EQ(copied, solver.bytes());
    for (int i = 1; i < 4; ++i)
        EXPECT_EQ(writer.engine.publish(solver.step(i)), std::nullopt);
    EXPECT_EQ(writer.engine.bytes_copied(), copied);
    EXPECT_EQ(writer.engine.segments(), 1u);
    EXPECT_EQ(writer.engine.counters().published, 4u);
    writer.expect_held(0, 0, solver);
    if (reader) {
        EXPECT_EQ(writer.engine.counters().dropped, 3u);
        EXPECT_TRUE(reader->release(reader->next(0s).sequence));
    }
    EXPECT_EQ(writer.engine.publish(solver.step(4)), 1u) << "numbers count what was accepted";
    EXPECT_EQ(writer.served->held->find(0), nullptr);
    writer.expect_held(1, 4, solver);
}

TEST(StagingSlots, MemoryGoesRoundWithoutFreshPages) {
    Writer writer(options(QueuePolicy::latest_only, 3));
    Solver solver(writer.team, 10);
    auto reader = reader_of(writer);
    std::set<const std::byte*> places;
    for (int i = 0; i < 40; ++i) {
        const auto sequence = writer.engine.publish(solver.step(i));
        ASSERT_TRUE(sequence);
        places.insert(writer.served->held->find(*sequence)->segment->bytes().data());
        if (reader && i % 3 == 0) {
            EXPECT_TRUE(reader->release(reader->next(0s).sequence));
        }
    }
    EXPECT_LE(places.size(), 3u);
    EXPECT_LE(writer.engine.segments(), 3u);
    EXPECT_EQ(writer.engine.bytes_copied(), 40 * solver.bytes());
}

TEST(StagingSlots, MemoryOfLatestOnlyFollowsTheReadersAndGoesRoundToo) {
    constexpr int readers = 4;
    Writer writer(options(QueuePolicy::latest_only, 2));
    Solver solver(writer.team, 10);
    std::vector<QueueReader> all;
    std::vector<Delivery> held(readers);
    for (int i = 0; i < readers && writer.served->queue != nullptr; ++i)
        all.push_back(writer.served->queue->attach());
    std::set<const std::byte*> places;
    for (int i = 0; i < 60; ++i) { // each holds another step, for four steps
        const auto sequence = writer.engine.publish(solver.step(i));
        ASSERT_EQ(sequence, static_cast<std::uint64_t>(i)) << "none was refused";
        places.insert(writer.served->held->find(*sequence)->segment->bytes().data());
        if (all.empty())
            continue;
        const auto turn = static_cast<std::size_t>(i % readers);
        if (held[turn]) {
            EXPECT_TRUE(all[turn].release(held[turn].sequence));
        }
        held[turn] = all[turn].next(0s);
        EXPECT_EQ(held[turn].sequence, *sequence);
    }
    EXPECT_LE(places.size(), readers + 2u) << "no fresh pages after the first steps";
    EXPECT_LE(writer.engine.segments(), readers + 2u);
    all.clear();
    for (int i = 60; i < 64; ++i)
        ASSERT_TRUE(writer.engine.publish(solver.step(i)));
    EXPECT_LE(writer.engine.segments(), 3u) << "given back when they have gone";
}

TEST(StagingSlots, ArraysInABufferArePublishedWithoutACopyFromTheSecondStepOn) {
    Writer writer(options(QueuePolicy::latest_only, 2));
    Solver solver(writer.team, 9);
    auto reader = reader_of(writer);
    std::optional<StepInfo> table;
    std::set<void*> ring;
    for (int i = 0; i < 20; ++i) {
        const auto u = writer.engine.buffer(solver.u.size() * 8);
        const auto w = writer.engine.buffer(solver.w.size() * 4);
        EXPECT_EQ(u.empty(), i == 0);
        EXPECT_EQ(w.empty(), i == 0);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(u.data()) % 64, 0u);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(w.data()) % 64, 0u);
        solver.in_u = reinterpret_cast<double*>(u.data());
        solver.in_w = reinterpret_cast<float*>(w.data());
        ring.insert(u.data());
        const auto sequence = writer.engine.publish(solver.step(i));
        ASSERT_TRUE(sequence);
        writer.expect_held(*sequence, i, solver);
        EXPECT_EQ(writer.engine.bytes_copied(), solver.bytes()) << "those of the first step";
        const auto step = writer.served->held->find(*sequence);
        if (i > 0) {
            EXPECT_EQ(view_of(*step->part, step->part->blocks[0], step->part->blocks[0].arrays[0],
                              step->segment->bytes())
                          .data,
                      u.data())
                << "the solver's own memory";
        }
        EXPECT_EQ(table.value_or(*step->part), *step->part) << "the same places in each step";
        table = *step->part;
        if (reader) {
            EXPECT_TRUE(reader->release(reader->next(0s).sequence));
        }
    }
    EXPECT_LE(ring.size(), 4u) << "depth + 1, and none at first";
    EXPECT_LE(writer.engine.segments(), 3u);
}

TEST(StagingSlots, OnlyArraysOutsideTheBufferAreCopied) {
    Writer writer(options(QueuePolicy::latest_only, 2));
    Solver solver(writer.team, 9);
    for (int i = 0; i < 4; ++i) {
        const auto w = writer.engine.buffer(solver.w.size() * 4);
        solver.in_w = reinterpret_cast<float*>(w.data());
        const auto before = writer.engine.bytes_copied();
        const auto sequence = writer.engine.publish(solver.step(i));
        writer.expect_held(*sequence, i, solver);
        EXPECT_EQ(writer.engine.bytes_copied() - before,
                  i == 0 ? solver.bytes() : solver.u.size() * 8);
    }
}

TEST(StagingSlots, AStepThatOutgrowsItsBufferIsCopiedOnceAndThenFits) {
    Writer writer(options(QueuePolicy::latest_only, 2));
    std::uint64_t copied = 0;
    for (int i = 0; i < 9; ++i) {
        Solver solver(writer.team, i < 4 ? 9 : 20);
        solver.in_u = reinterpret_cast<double*>(writer.engine.buffer(solver.u.size() * 8).data());
        solver.in_w = reinterpret_cast<float*>(writer.engine.buffer(solver.w.size() * 4).data());
        const auto sequence = writer.engine.publish(solver.step(i));
        ASSERT_TRUE(sequence);
        writer.expect_held(*sequence, i, solver);
        if (i == 0 || i == 4)
            copied += solver.bytes();
        EXPECT_EQ(writer.engine.bytes_copied(), copied) << i;
    }
    EXPECT_LE(writer.engine.segments(), 3u);
}

TEST(StagingSlots, ADroppedStepLeavesItsBufferForTheNextOne) {
    Writer writer(options(QueuePolicy::drop_newest, 1));
    Solver solver(writer.team, 5);
    auto reader = reader_of(writer);
    EXPECT_TRUE(writer.engine.buffer(8).empty());
    EXPECT_TRUE(writer.engine.publish(solver.step(0)));
    const auto* const first = writer.engine.buffer(64).data();
    ASSERT_NE(first, nullptr);
    EXPECT_FALSE(writer.engine.publish(solver.step(1)));
    EXPECT_EQ(writer.engine.buffer(64).data(), first);
    EXPECT_FALSE(writer.engine.publish(solver.step(2)));
}

TEST(StagingSlots, ATableMayChangeFromStepToStep) {
    Writer writer(options(QueuePolicy::block, 1));
    auto reader = reader_of(writer);
    for (int i = 0; i < 6; ++i) {
        Solver solver(writer.team, 4);
        LocalStep local = solver.step(i);
        // Every other step the last rank has no block, and every third nobody.
        const bool last = writer.team.rank() == writer.team.size() - 1;
        const bool none = i % 3 == 2 || (last && i % 2 == 1);
        if (none) {
            local.part.blocks.clear();
            local.values.clear();
        }
        const auto sequence = writer.engine.publish(std::move(local));
        ASSERT_EQ(sequence, static_cast<std::uint64_t>(i));
        if (!none)
            writer.expect_held(*sequence, i, solver);
        if (reader) {
            const Delivery delivery = reader->next(0s);
            const auto blocks = static_cast<std::size_t>(writer.team.size()) - (i % 2 == 1 ? 1 : 0);
            EXPECT_EQ(decoded(delivery.payload).step.blocks.size(), i % 3 == 2 ? 0 : blocks);
            EXPECT_TRUE(reader->release(delivery.sequence));
        }
    }
}

/// What `publish` throws, the same kind and text on all ranks.
template <class Error> std::string thrown(Writer& writer, LocalStep step) {
    try {
        (void)writer.engine.publish(std::move(step));
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was thrown";
}

TEST(StagingSlots, AStepThatIsWrongOnOneRankFailsOnAllAndTheNextOneGoesOn) {
    Writer writer(options(QueuePolicy::block, 1));
    Solver solver(writer.team, 4);
    const bool last = writer.team.rank() == writer.team.size() - 1;
    EXPECT_EQ(writer.engine.publish(solver.step(0)), 0u);

    LocalStep shape = solver.step(1);
    if (last)
        shape.values[1].count[0] = 3;
    EXPECT_NE(thrown<StagingError>(writer, std::move(shape)).find("field \"w\""),
              std::string::npos);
    LocalStep table = solver.step(1);
    if (last)
        table.part.fields[0].topology = 7;
    EXPECT_NE(thrown<StagingError>(writer, std::move(table)).find("topology that is not there"),
              std::string::npos);
    if (writer.team.size() > 1) {
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

TEST(StagingSlots, MemoryThatOneRankLacksFailsOnAllAndRoomIsGivenBack) {
    bool scarce = false;
    const Team team(MPI_COMM_WORLD);
    const MakeSegment make = [&](std::size_t bytes) {
        if (scarce && team.rank() == team.size() - 1)
            throw StagingError("There is no memory on the last rank.");
        return make_heap_segment(bytes);
    };
    Writer writer(options(QueuePolicy::block, 2), make);
    auto reader = reader_of(writer);
    Solver solver(writer.team, 4);
    EXPECT_EQ(writer.engine.publish(solver.step(0)), 0u);
    scarce = true;
    EXPECT_EQ(thrown<StagingError>(writer, solver.step(1)), "There is no memory on the last rank.");
    EXPECT_EQ(writer.served->held->find(1), nullptr) << "nobody may see half a step";
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

TEST(StagingSlots, ATimeoutIsATimeoutOnAllRanks) {
    EngineOptions given = options(QueuePolicy::block, 1);
    given.queue.time_limit = 20ms;
    given.queue.on_timeout = OnTimeout::fail;
    Writer writer(given);
    auto reader = reader_of(writer);
    Solver solver(writer.team, 4);
    EXPECT_TRUE(writer.engine.publish(solver.step(0)));
    EXPECT_NE(thrown<QueueTimeout>(writer, solver.step(1)).find("within"), std::string::npos);
    if (reader)
        reader->detach();
    EXPECT_EQ(writer.engine.publish(solver.step(2)), 1u);
}

TEST(StagingSlots, AStepLargerThanTheQueueIsRefusedOnAllRanks) {
    EngineOptions given = options(QueuePolicy::block, 1);
    given.queue.bytes = 1000;
    Writer writer(given);
    EXPECT_NE(thrown<StagingError>(writer, Solver(writer.team, 10).step(0)).find("never fits"),
              std::string::npos);
}

TEST(StagingSlots, AStepThatIsBeingSentKeepsItsMemoryThoughTheQueueGaveItUp) {
    Writer writer(options(QueuePolicy::drop_oldest, 1));
    Solver solver(writer.team, 4);
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
        << "it went back when the last one let go";
    EXPECT_LE(writer.engine.segments(), 2u);
}

TEST(StagingSlots, TheFirstStepWaitsForReadersAsConfigured) {
    EngineOptions given = options(QueuePolicy::block, 2);
    given.wait_for_readers = 1;
    given.wait_limit = 20ms;
    Writer writer(given);
    Solver solver(writer.team, 4);
    EXPECT_NE(thrown<PeerGone>(writer, solver.step(0)).find("only 0 came"), std::string::npos);
    auto reader = reader_of(writer);
    EXPECT_EQ(writer.engine.publish(solver.step(0)), 0u);
    if (reader)
        reader->detach();
    EXPECT_EQ(writer.engine.publish(solver.step(1)), 1u) << "later ones do not wait";
}

TEST(StagingSlots, ChecksumsAreThoseOfTheValuesInEachStep) {
    EngineOptions given = options(QueuePolicy::block, 2);
    given.checksums = true;
    Writer writer(given);
    Solver solver(writer.team, 6);
    auto reader = reader_of(writer);
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(writer.engine.publish(solver.step(i)));
        if (!reader)
            continue;
        const Delivery delivery = reader->next(0s);
        const StepInfo step = decoded(delivery.payload).step;
        for (int rank = 0; rank < writer.team.size(); ++rank) {
            Solver other(writer.team, 6);
            other.rank = rank;
            const LocalStep local = other.step(i);
            const auto& arrays = step.blocks[static_cast<std::size_t>(rank)].arrays;
            EXPECT_EQ(arrays[0].checksum, checksum(local.values[0]));
            EXPECT_EQ(arrays[1].checksum, checksum(local.values[1]));
        }
        EXPECT_TRUE(reader->release(delivery.sequence));
    }
}

TEST(StagingSlots, CloseGivesReadersWhatIsLeftAndEndsTheStream) {
    EngineOptions given = options(QueuePolicy::block, 2);
    given.close_limit = long_enough;
    Writer writer(given);
    Solver solver(writer.team, 4);
    auto reader = reader_of(writer);
    ASSERT_TRUE(writer.engine.publish(solver.step(0)));
    std::vector<Arrival> arrivals;
    std::thread reading([&] {
        if (!reader)
            return;
        const Delivery delivery = reader->next(long_enough);
        EXPECT_NE(writer.served->held->find(0), nullptr);
        EXPECT_FALSE(writer.served->closed);
        EXPECT_TRUE(reader->release(delivery.sequence));
        arrivals = {delivery.arrival, reader->next(long_enough).arrival};
    });
    writer.engine.close();
    reading.join();
    if (reader) {
        EXPECT_EQ(arrivals, (std::vector{Arrival::step, Arrival::ended}));
    }
    EXPECT_TRUE(writer.served->closed);
    EXPECT_GT(writer.served->close_limit, 0s);
    EXPECT_EQ(writer.served->held->find(0), nullptr);
    EXPECT_EQ(writer.engine.segments(), 0u) << "the memory is free though the engine is there";
    writer.engine.close();
    EXPECT_THROW((void)writer.engine.publish(solver.step(1)), StagingError);
    EXPECT_TRUE(writer.engine.buffer(8).empty());
}

TEST(StagingSlots, CloseWaitsForAReaderThatDoesNotMoveNoLongerThanItMay) {
    EngineOptions given = options(QueuePolicy::block, 2);
    given.close_limit = 30ms;
    Writer writer(given);
    auto reader = reader_of(writer);
    ASSERT_TRUE(writer.engine.publish(Solver(writer.team, 4).step(0)));
    const auto start = std::chrono::steady_clock::now();
    writer.engine.close();
    EXPECT_LT(std::chrono::steady_clock::now() - start, long_enough);
    EXPECT_TRUE(writer.served->closed);
}

TEST(StagingSlots, AServiceThatOneRankCannotHaveFailsOnAll) {
    const Team team(MPI_COMM_WORLD);
    auto served = std::make_shared<Served>();
    const MakeService make = [&](const HeldSteps& held, Queue* queue) -> std::unique_ptr<Service> {
        if (team.rank() == team.size() - 1)
            throw StagingError("The port is taken.");
        return std::make_unique<test::FakeService>(team.rank(), served, held, queue);
    };
    try {
        const SlotEngine engine(team, EngineOptions{}, make_heap_segment, make);
        ADD_FAILURE() << "made";
    } catch (const StagingError& error) {
        EXPECT_STREQ(error.what(), "The port is taken.");
    }
    EXPECT_TRUE(team.rank() == team.size() - 1 || served->gone);
}

TEST(StagingSlots, PackedLayoutsHaveNoGapsAndKeepTheOrderOfAxes) {
    const auto pack = [](const Extent& count, const Layout& layout, std::int64_t components) {
        return packed_layout({nullptr, count, layout, components, 4});
    };
    const Extent count{4, 3, 5};
    EXPECT_EQ(pack(count, interleaved(count, 2, 4), 2), interleaved(count, 2, 4));
    EXPECT_EQ(pack(count, planar(count, 4), 2), planar(count, 4));
    EXPECT_EQ(pack(count, {{1000, 100, 8}, 4}, 2), interleaved(count, 2, 4));
    EXPECT_EQ(pack(count, {{1000, 100, 8}, 9000}, 2), planar(count, 4));
    // An array of Fortran's whose indices are (z, y, x): z is contiguous, and stays so.
    EXPECT_EQ(pack(count, {{4, 40, 400}, 8000}, 2), (Layout{{4, 16, 48}, 240}));
    EXPECT_EQ(pack(count, {{400, 40, 4}, 7}, 1).component_stride, 4) << "one component";
    EXPECT_EQ(pack({1, 1, 1}, {{0, 0, 0}, 0}, 1).strides[2], 4) << "one value";
}

TEST(StagingSlots, RandomLayoutsArriveWithEqualValues) {
    std::mt19937 random(7);
    const auto some = [&](int most) {
        return std::uniform_int_distribution<std::int64_t>(1, most)(random);
    };
    for (int round = 0; round < 200; ++round) {
        // An array with gaps, its axes nested in any order.
        ConstArrayView from{nullptr, {some(4), some(4), some(4)}, {}, some(3), 4};
        std::array<int, 4> order{0, 1, 2, 3};
        std::shuffle(order.begin(), order.end(), random);
        std::int64_t stride = 4;
        for (const int axis : order) {
            stride += 4 * (some(3) - 1);
            const auto a = static_cast<std::size_t>(axis);
            (axis == 3 ? from.layout.component_stride : from.layout.strides[a]) = stride;
            stride *= axis == 3 ? from.components : from.count[a];
        }
        std::vector<std::int32_t> memory(static_cast<std::size_t>(stride / 4));
        for (auto& value : memory)
            value = static_cast<std::int32_t>(random());
        from.data = reinterpret_cast<const std::byte*>(memory.data());

        LocalStep local;
        local.part.coordsets = {{"mesh", UniformCoords{}}};
        local.part.topologies = {{"mesh", 0, 3, {{}, from.count}}};
        local.part.fields = {{"a",
                              0,
                              Association::element,
                              ScalarType::int32,
                              static_cast<std::uint32_t>(from.components),
                              {}}};
        Block block = Block::with_elements({{}, from.count});
        block.arrays.resize(1);
        local.part.blocks = {block};
        local.values = {from};
        const Arrangement to = arrange(std::move(local), 0, {});
        EXPECT_NO_THROW(validate(to.part));
        ASSERT_EQ(to.bytes, static_cast<std::size_t>(from.bytes()));
        std::vector<std::byte> segment(to.bytes);
        EXPECT_EQ(fill(to, segment), to.bytes);
        const Block& there = to.part.blocks[0];
        const auto view = view_of(to.part, there, there.arrays[0], segment);
        EXPECT_EQ(checksum(view, Order::interleaved), checksum(from, Order::interleaved));
    }
}

TEST(StagingSlots, AnnouncesAreThoseOfTheCodec) {
    Announcer announcer;
    const Team team;
    StepInfo step = Solver(team, 4).step(3).part;
    const StepInfo head{step.index, step.time, step.attributes, {}, {}, {}, {}};
    StepInfo table = step;
    table.index = 0;
    table.time = 0;
    table.attributes.clear();
    for (StepInfo* info : {&step, &table}) {
        info->blocks[0].arrays[0].layout = interleaved({6, 3, 5}, 1, 8);
        info->blocks[0].arrays[1].layout = planar({4, 3, 5}, 4);
    }
    announcer.set_table(table);
    const std::vector<SegmentPlace> places{{1, 2, 3, 4}, {5, 6, 7, 8}};
    EXPECT_EQ(*announcer.announce(9, places, head), encode(Message(Announce{9, places, step})));
    announcer.set_checksums(std::vector<std::uint32_t>{11, 12});
    step.blocks[0].arrays[0].checksum = 11;
    step.blocks[0].arrays[1].checksum = 12;
    EXPECT_EQ(*announcer.announce(9, {}, head), encode(Message(Announce{9, {}, step})));
}

} // namespace
} // namespace uzushio::staging::slots
