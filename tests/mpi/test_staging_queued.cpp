// ranks: 1 2 4
// Contents of a published step: memory, table, checksums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "staging/datamodel/copy.hpp"
#include "staging/queue/queue_timeout.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/wire/checksum.hpp"
#include "staging/wire/message_codec.hpp"
#include "support/queued_writer.hpp"

namespace uzushio::staging::queued {
namespace {

TEST(StagingQueued, AStepIsHeldByItsRankAndAnnouncedAsAWhole) {
    Writer writer(options(QueuePolicy::block, 3));
    Solver solver(writer.group, 4 + writer.group.rank());
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
        const Solver largest(writer.group, 3 + writer.group.size());
        EXPECT_EQ(delivery.bytes, aligned(largest.u.size() * 8) + largest.w.size() * 4)
            << "of the rank that has most";
        const Announce announce = decoded(delivery.payload);
        EXPECT_EQ(announce.sequence, sequence);
        EXPECT_TRUE(announce.places.empty()) << "heap segments have no places";
        EXPECT_EQ(announce.step.index, 10 + i);
        EXPECT_EQ(announce.step.time, 0.5 * static_cast<double>(10 + i));
        EXPECT_EQ(announce.step.attributes,
                  (std::vector<Attribute>{{"dt", 1.0 / static_cast<double>(11 + i)}}));
        ASSERT_EQ(announce.step.blocks.size(), static_cast<std::size_t>(writer.group.size()));
        for (std::uint32_t rank = 0; rank < announce.step.blocks.size(); ++rank) {
            EXPECT_EQ(announce.step.blocks[rank].rank, rank);
            EXPECT_EQ(announce.step.blocks[rank].id, rank);
        }
    }
    const auto step = writer.served->held->find(2);
    ASSERT_NE(step, nullptr);
    EXPECT_EQ(step->first_block, static_cast<std::uint32_t>(writer.group.rank()));
    PieceRequest request;
    request.block = static_cast<std::uint32_t>(writer.group.rank());
    request.source = Box::at({1, 0, 0}, {1, 1, 1});
    double value = 0;
    std::memcpy(&value, select(*step, request.block, request).data, sizeof value);
    EXPECT_EQ(value, Solver::u_of(12, writer.group.rank(), 15)) << "first value after the ghosts";
}

TEST(StagingQueued, EndpointsOfAllRanksAreGatheredOnRankZero) {
    Writer writer(options(QueuePolicy::block, 1));
    if (writer.group.rank() == 0) {
        ASSERT_EQ(writer.served->opened.ranks.size(),
                  static_cast<std::size_t>(writer.group.size()));
        for (int rank = 0; rank < writer.group.size(); ++rank)
            EXPECT_EQ(writer.served->opened.ranks[static_cast<std::size_t>(rank)].address,
                      "rank:" + std::to_string(rank));
    } else {
        EXPECT_EQ(writer.served->queue, nullptr);
    }
}

TEST(StagingQueued, ADroppedStepIsDroppedOnAllRanksAndCopiedOnNone) {
    Writer writer(options(QueuePolicy::drop_newest, 1));
    Solver solver(writer.group, 8);
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
    EXPECT_EQ(writer.engine.publish(solver.step(4)), 1u) << "numbers count accepted steps";
    EXPECT_EQ(writer.served->held->find(0), nullptr);
    writer.expect_held(1, 4, solver);
}

TEST(StagingQueued, SegmentsAreReusedWithoutNewPages) {
    Writer writer(options(QueuePolicy::latest_only, 3));
    Solver solver(writer.group, 10);
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

TEST(StagingQueued, SegmentsOfLatestOnlyFollowTheNumberOfReadersAndAreReused) {
    constexpr int readers = 4;
    Writer writer(options(QueuePolicy::latest_only, 2));
    Solver solver(writer.group, 10);
    std::vector<QueueReader> all;
    std::vector<Delivery> held(readers);
    for (int i = 0; i < readers && writer.served->queue != nullptr; ++i)
        all.push_back(writer.served->queue->attach());
    std::set<const std::byte*> places;
    for (int i = 0; i < 60; ++i) { // each holds a different step, for four steps
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
    EXPECT_LE(places.size(), readers + 2u) << "no new pages after the first steps";
    EXPECT_LE(writer.engine.segments(), readers + 2u);
    all.clear();
    for (int i = 60; i < 64; ++i)
        ASSERT_TRUE(writer.engine.publish(solver.step(i)));
    EXPECT_LE(writer.engine.segments(), 3u) << "freed when the readers have detached";
}

TEST(StagingQueued, ArraysInABufferArePublishedWithoutACopyFromTheSecondStepOn) {
    Writer writer(options(QueuePolicy::latest_only, 2));
    Solver solver(writer.group, 9);
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
        EXPECT_EQ(writer.engine.bytes_copied(), solver.bytes()) << "only in the first step";
        const auto step = writer.served->held->find(*sequence);
        if (i > 0) {
            EXPECT_EQ(view_of(*step->part, step->part->blocks[0], step->part->blocks[0].arrays[0],
                              step->segment->bytes())
                          .data,
                      u.data())
                << "the solver's own memory";
        }
        EXPECT_EQ(table.value_or(*step->part), *step->part) << "the same positions in each step";
        table = *step->part;
        if (reader) {
            EXPECT_TRUE(reader->release(reader->next(0s).sequence));
        }
    }
    EXPECT_LE(ring.size(), 4u) << "depth + 1; none in the first step";
    EXPECT_LE(writer.engine.segments(), 3u);
}

TEST(StagingQueued, OnlyArraysOutsideTheBufferAreCopied) {
    Writer writer(options(QueuePolicy::latest_only, 2));
    Solver solver(writer.group, 9);
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

TEST(StagingQueued, AStepThatOutgrowsItsBufferIsCopiedOnceAndThenFits) {
    Writer writer(options(QueuePolicy::latest_only, 2));
    std::uint64_t copied = 0;
    for (int i = 0; i < 9; ++i) {
        Solver solver(writer.group, i < 4 ? 9 : 20);
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

TEST(StagingQueued, TheBufferOfADroppedStepIsUsedForTheNext) {
    Writer writer(options(QueuePolicy::drop_newest, 1));
    Solver solver(writer.group, 5);
    auto reader = reader_of(writer);
    EXPECT_TRUE(writer.engine.buffer(8).empty());
    EXPECT_TRUE(writer.engine.publish(solver.step(0)));
    const auto* const first = writer.engine.buffer(64).data();
    ASSERT_NE(first, nullptr);
    EXPECT_FALSE(writer.engine.publish(solver.step(1)));
    EXPECT_EQ(writer.engine.buffer(64).data(), first);
    EXPECT_FALSE(writer.engine.publish(solver.step(2)));
}

TEST(StagingQueued, ATableMayChangeFromStepToStep) {
    Writer writer(options(QueuePolicy::block, 1));
    auto reader = reader_of(writer);
    for (int i = 0; i < 6; ++i) {
        Solver solver(writer.group, 4);
        LocalStep local = solver.step(i);
        // In every other step the last rank has no block, in every third no rank.
        const bool last = writer.group.rank() == writer.group.size() - 1;
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
            const auto blocks =
                static_cast<std::size_t>(writer.group.size()) - (i % 2 == 1 ? 1 : 0);
            EXPECT_EQ(decoded(delivery.payload).step.blocks.size(), i % 3 == 2 ? 0 : blocks);
            EXPECT_TRUE(reader->release(delivery.sequence));
        }
    }
}

TEST(StagingQueued, ChecksumsAreThoseOfTheValuesInEachStep) {
    EngineOptions given = options(QueuePolicy::block, 2);
    given.checksums = true;
    Writer writer(given);
    Solver solver(writer.group, 6);
    auto reader = reader_of(writer);
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(writer.engine.publish(solver.step(i)));
        if (!reader)
            continue;
        const Delivery delivery = reader->next(0s);
        const StepInfo step = decoded(delivery.payload).step;
        for (int rank = 0; rank < writer.group.size(); ++rank) {
            Solver other(writer.group, 6);
            other.rank = rank;
            const LocalStep local = other.step(i);
            const auto& arrays = step.blocks[static_cast<std::size_t>(rank)].arrays;
            EXPECT_EQ(arrays[0].checksum, checksum(local.values[0]));
            EXPECT_EQ(arrays[1].checksum, checksum(local.values[1]));
        }
        EXPECT_TRUE(reader->release(delivery.sequence));
    }
}

TEST(StagingQueued, PackedLayoutsHaveNoGapsAndKeepTheOrderOfAxes) {
    const auto pack = [](const Extent& count, const ArrayLayout& layout, std::int64_t components) {
        return packed_layout({nullptr, count, layout, components, 4});
    };
    const Extent count{4, 3, 5};
    EXPECT_EQ(pack(count, interleaved(count, 2, 4), 2), interleaved(count, 2, 4));
    EXPECT_EQ(pack(count, planar(count, 4), 2), planar(count, 4));
    EXPECT_EQ(pack(count, {{1000, 100, 8}, 4}, 2), interleaved(count, 2, 4));
    EXPECT_EQ(pack(count, {{1000, 100, 8}, 9000}, 2), planar(count, 4));
    // A Fortran array with indices (z, y, x): z is contiguous, and remains so.
    EXPECT_EQ(pack(count, {{4, 40, 400}, 8000}, 2), (ArrayLayout{{4, 16, 48}, 240}));
    EXPECT_EQ(pack(count, {{400, 40, 4}, 7}, 1).component_stride, 4) << "one component";
    EXPECT_EQ(pack({1, 1, 1}, {{0, 0, 0}, 0}, 1).strides[2], 4) << "one value";
}

TEST(StagingQueued, ValuesOfRandomLayoutsAreUnchanged) {
    std::mt19937 random(7);
    const auto some = [&](int most) {
        return std::uniform_int_distribution<std::int64_t>(1, most)(random);
    };
    for (int round = 0; round < 200; ++round) {
        // An array with gaps and axes nested in any order.
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
        const SegmentLayout to = lay_out(std::move(local), 0, {});
        EXPECT_NO_THROW(validate(to.part));
        ASSERT_EQ(to.bytes, static_cast<std::size_t>(from.bytes()));
        std::vector<std::byte> segment(to.bytes);
        EXPECT_EQ(fill(to, segment), to.bytes);
        const Block& there = to.part.blocks[0];
        const auto view = view_of(to.part, there, there.arrays[0], segment);
        EXPECT_EQ(checksum(view, ComponentOrder::interleaved),
                  checksum(from, ComponentOrder::interleaved));
    }
}

TEST(StagingQueued, AnnouncesEqualThoseOfTheCodec) {
    Announcer announcer;
    const parallel::CollectiveGroup group = stream_group();
    StepInfo step = Solver(group, 4).step(3).part;
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
} // namespace uzushio::staging::queued
