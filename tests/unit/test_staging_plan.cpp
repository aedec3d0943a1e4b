#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "staging/datamodel/copy.hpp"
#include "staging/datamodel/model_error.hpp"
#include "staging/datamodel/read_planner.hpp"
#include "staging/datamodel/run_cursor.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/select.hpp"
#include "support/seeded.hpp"

namespace uzushio::staging {
namespace {

using seeded::cut;
using seeded::draw;
using seeded::Random;

/// Step, and the memory of each of its ranks.
struct StepInMemory {
    StepInfo step;
    std::vector<std::vector<std::byte>> segments;
};

/// Return component c of the value at these global indices, independent of the block.
std::int64_t truth(const Extent& at, std::int64_t c) {
    return (((at[0] + 100) * 1000 + at[1] + 100) * 1000 + at[2] + 100) * 10 + c;
}

void put(ScalarType type, std::int64_t value, std::byte* to) {
    const auto store = [to](auto v) { std::memcpy(to, &v, sizeof v); };
    switch (type) {
    case ScalarType::float32:
        return store(static_cast<float>(value % 16'000'000));
    case ScalarType::float64:
        return store(static_cast<double>(value));
    case ScalarType::int32:
        return store(static_cast<std::int32_t>(value % 2'000'000'000));
    case ScalarType::int64:
        return store(value);
    case ScalarType::uint8:
        return store(static_cast<std::uint8_t>(value % 251));
    }
}

std::byte* at(const ArrayView& v, const Extent& i, std::int64_t c) {
    return v.data + i[0] * v.layout.strides[0] + i[1] * v.layout.strides[1] +
           i[2] * v.layout.strides[2] + c * v.layout.component_stride;
}

template <class Each> void for_each_index(const Box& box, Each each) {
    for (std::int64_t z = box.lower[0]; z < box.upper[0]; ++z)
        for (std::int64_t y = box.lower[1]; y < box.upper[1]; ++y)
            for (std::int64_t x = box.lower[2]; x < box.upper[2]; ++x)
                each(Extent{z, y, x});
}

/// With `invert_ghosts`, ghost values are the inverted bits of the owned ones.
void fill(StepInMemory& published, bool invert_ghosts) {
    for (const Block& block : published.step.blocks)
        for (const StoredArray& array : block.arrays) {
            const Field& field = published.step.fields[array.field];
            const Box stored = stored_box(published.step, block, array);
            const ArrayView view{published.segments[block.rank].data() + array.offset,
                                 stored.extents(), array.layout, field.components,
                                 size_of(field.type)};
            const Box owned = block.owned(field.association);
            for_each_index(stored, [&](const Extent& i) {
                const bool ghost = !owned.contains(i);
                for (std::int64_t c = 0; c < field.components; ++c) {
                    std::byte* value =
                        at(view,
                           {i[0] - stored.lower[0], i[1] - stored.lower[1], i[2] - stored.lower[2]},
                           c);
                    put(field.type, truth(i, c), value);
                    if (ghost && invert_ghosts)
                        for (std::int64_t b = 0; b < view.scalar_bytes; ++b)
                            value[b] = ~value[b];
                }
            });
        }
}

/// Return random blocks on random ranks, with fields of both associations on some of the blocks.
StepInMemory random_step(Random& random, bool complete, bool invert_ghosts) {
    StepInMemory published;
    StepInfo& step = published.step;
    const Box domain = Box::at({draw(random, -5, 5), draw(random, -5, 5), draw(random, -5, 5)},
                               {draw(random, 1, 10), draw(random, 1, 10), draw(random, 1, 10)});
    step.coordsets = {{"coords", UniformCoords{}}};
    step.topologies = {{"mesh", 0, 3, domain}};
    for (std::uint8_t type = 1; type <= 5; ++type)
        step.fields.push_back({"f" + std::to_string(type),
                               0,
                               draw(random, 0, 1) == 0 ? Association::vertex : Association::element,
                               ScalarType{type},
                               static_cast<std::uint32_t>(draw(random, 1, 3)),
                               {}});
    const auto ranks = static_cast<std::uint32_t>(draw(random, 1, 5));
    std::vector<std::uint64_t> used(ranks, 0);
    for (const Box& box : cut(random, domain, draw(random, 1, 20))) {
        Block block = Block::with_elements(box);
        block.id = step.blocks.size();
        block.rank = static_cast<std::uint32_t>(draw(random, 0, ranks - 1));
        for (std::uint32_t f = 0; f < step.fields.size(); ++f) {
            if (!complete && draw(random, 0, 3) == 0)
                continue;
            StoredArray array;
            array.field = f;
            for (std::size_t a = 0; a < 3; ++a) {
                array.ghosts.lower[a] = static_cast<std::uint16_t>(draw(random, 0, 2));
                array.ghosts.upper[a] = static_cast<std::uint16_t>(draw(random, 0, 2));
            }
            const Field& field = step.fields[f];
            const Extent count = stored_box(step, block, array).extents();
            Extent padded = count;
            padded[2] += draw(random, 0, 2);
            padded[1] += draw(random, 0, 1);
            array.layout = draw(random, 0, 1) == 0
                               ? interleaved(padded, field.components, size_of(field.type))
                               : planar(padded, size_of(field.type));
            array.offset = used[block.rank];
            block.arrays.push_back(array);
            used[block.rank] += stored_bytes(step, block, array) + 8;
        }
        step.blocks.push_back(block);
    }
    validate(step);
    for (const auto bytes : used)
        published.segments.emplace_back(bytes);
    fill(published, invert_ghosts);
    return published;
}

/// Count the pieces and missing boxes that contain each index of the plan's box.
std::vector<int> times_covered(const ReadPlan& plan) {
    std::vector<int> times(static_cast<std::size_t>(plan.box.volume()), 0);
    const Extent n = plan.box.extents();
    const auto count = [&](const Box& box) {
        for_each_index(box, [&](const Extent& i) {
            ++times[static_cast<std::size_t>((i[0] * n[1] + i[1]) * n[2] + i[2])];
        });
    };
    for (const Piece& piece : plan.pieces)
        count(piece.target);
    for (const Box& box : plan.missing)
        count(box.relative_to(plan.box.lower));
    return times;
}

/// Execute a plan as an engine does: encoded requests, runs from the segment to the target.
void pull(const StepInMemory& published, const Piece& piece, const ArrayView& to) {
    const auto message = encode(request_of(published.step, piece, 0, 0));
    const auto frame = decode_frame_header(std::span(message).first<FrameHeader::size>());
    const auto request =
        std::get<PieceRequest>(decode(frame, std::span(message).subspan(FrameHeader::size)));
    const auto from = select(published.step, piece.rank, request, published.segments[piece.rank]);
    RunCursor out(from, request.order);
    RunCursor in(to.sub(piece.target), request.order);
    ASSERT_EQ(out.left(), in.left());
    while (out.left() > 0) {
        auto run = out.next(37);
        while (!run.empty()) {
            const auto room = in.next(std::ssize(run));
            std::copy_n(run.begin(), room.size(), room.begin());
            run = run.subspan(room.size());
        }
    }
}

/// Part of `box` along its longest axis for one of `readers`.
Box slab(Box box, std::int64_t readers, std::int64_t reader) {
    const std::size_t axis = box.longest_axis();
    const std::int64_t first = reader * box.extent(axis) / readers;
    const std::int64_t end = (reader + 1) * box.extent(axis) / readers;
    box.upper[axis] = box.lower[axis] + end;
    box.lower[axis] += first;
    return box;
}

TEST(StagingPlan, EachReaderReceivesThePublishedValues) {
    Random random(3);
    for (int round = 0; round < 150; ++round) {
        const StepInMemory published = random_step(random, true, true);
        const Topology& topology = published.step.topologies[0];
        const std::int64_t readers = draw(random, 1, 5);
        for (std::uint32_t f = 0; f < published.step.fields.size(); ++f) {
            const Field& field = published.step.fields[f];
            const ReadPlanner planner(published.step, f);
            const Box whole = field.association == Association::vertex
                                  ? vertices_of(topology.elements)
                                  : topology.elements;
            for (std::int64_t reader = 0; reader < readers; ++reader) {
                const ReadPlan plan = planner.plan(slab(whole, readers, reader));
                ASSERT_TRUE(plan.missing.empty());
                std::vector<std::byte> memory(static_cast<std::size_t>(
                    plan.box.volume() * field.components * size_of(field.type)));
                const ArrayView to = packed_view(memory.data(), plan.box.extents(),
                                                 field.components, size_of(field.type));
                for (const Piece& piece : plan.pieces) {
                    ASSERT_FALSE(piece.ghost) << "every value has an owner";
                    ASSERT_EQ(piece.source.extents(), piece.target.extents());
                    pull(published, piece, to);
                }
                std::vector<std::byte> expected(8);
                for_each_index({{}, plan.box.extents()}, [&](const Extent& i) {
                    for (std::int64_t c = 0; c < field.components; ++c) {
                        put(field.type,
                            truth({i[0] + plan.box.lower[0], i[1] + plan.box.lower[1],
                                   i[2] + plan.box.lower[2]},
                                  c),
                            expected.data());
                        ASSERT_EQ(std::memcmp(at(to, i, c), expected.data(),
                                              static_cast<std::size_t>(size_of(field.type))),
                                  0)
                            << "round " << round << ", field " << f;
                    }
                });
            }
        }
    }
}

TEST(StagingPlan, EveryIndexIsInOnePieceOrMissingForAnyBlocks) {
    Random random(4);
    for (int round = 0; round < 400; ++round) {
        StepInMemory published = random_step(random, false, false);
        // Blocks may even overlap: a second layout on top of the first.
        if (round % 2 == 1) {
            const StepInMemory second = random_step(random, false, false);
            for (Block block : second.step.blocks) {
                block.id += 1000;
                published.step.blocks.push_back(block);
            }
        }
        const ReadPlanner planner(published.step, 0);
        const Box box = Box::at({draw(random, -8, 8), draw(random, -8, 8), draw(random, -8, 8)},
                                {draw(random, 0, 12), draw(random, 0, 12), draw(random, 0, 12)});
        const ReadPlan plan = planner.plan(box);
        const auto times = times_covered(plan);
        ASSERT_EQ(times, std::vector<int>(times.size(), 1)) << "round " << round;

        // Indices are missing if no block stores them, and ghosts if no block owns them.
        const auto holds = [&](const Extent& i, bool stored) {
            return std::any_of(
                published.step.blocks.begin(), published.step.blocks.end(),
                [&](const Block& block) {
                    return std::any_of(
                        block.arrays.begin(), block.arrays.end(), [&](const StoredArray& array) {
                            const Box owned = block.owned(published.step.fields[0].association);
                            return array.field == 0 &&
                                   (stored ? grow(owned, array.ghosts) : owned).contains(i);
                        });
                });
        };
        for (const Box& gap : plan.missing)
            for_each_index(gap, [&](const Extent& i) { ASSERT_FALSE(holds(i, true)); });
        for (const Piece& piece : plan.pieces)
            for_each_index(piece.target, [&](Extent i) {
                for (std::size_t a = 0; a < 3; ++a)
                    i[a] += box.lower[a];
                ASSERT_EQ(holds(i, false), !piece.ghost);
            });
    }
}

TEST(StagingPlan, GhostLayersFillIndicesThatNoBlockOwns) {
    // Given a block with ghosts next to a gap of two elements, one of which is in its ghosts.
    StepInfo step;
    step.coordsets = {{"coords", UniformCoords{}}};
    step.topologies = {{"mesh", 0, 1, {{0, 0, 0}, {1, 1, 10}}}};
    step.fields = {{"p", 0, Association::element, ScalarType::float64, 1, {}}};
    Block block = Block::with_elements({{0, 0, 0}, {1, 1, 8}}, 1);
    StoredArray array;
    array.ghosts.upper[2] = 1;
    array.layout = interleaved({1, 1, 9}, 1, 8);
    block.arrays = {array};
    step.blocks = {block};
    validate(step);

    const ReadPlan plan = ReadPlanner(step, 0).plan({{0, 0, 0}, {1, 1, 10}});

    ASSERT_EQ(plan.pieces.size(), 2u);
    EXPECT_EQ(plan.pieces[0].source, (Box{{0, 0, 0}, {1, 1, 8}}));
    EXPECT_TRUE(plan.pieces[1].ghost);
    EXPECT_EQ(plan.pieces[1].source, (Box::at({0, 0, 8}, {1, 1, 1})));
    EXPECT_EQ(plan.missing, (std::vector<Box>{Box::at({0, 0, 9}, {1, 1, 1})}));
}

TEST(StagingPlan, AWholeBlockComesFromItsRankWithOrWithoutGhosts) {
    Random random(5);
    const StepInMemory published = random_step(random, true, false);
    const ReadPlanner planner(published.step, 1);
    for (std::uint32_t b = 0; b < published.step.blocks.size(); ++b) {
        const Block& block = published.step.blocks[b];
        const ReadPlan owned = planner.plan_block(published.step, b);
        ASSERT_EQ(owned.pieces.size(), 1u);
        EXPECT_EQ(owned.box, block.owned(published.step.fields[1].association));
        EXPECT_EQ(owned.pieces[0].block, b);
        EXPECT_EQ(owned.pieces[0].target, (Box::of(owned.box.extents())));
        const ReadPlan all = planner.plan_block(published.step, b, true);
        EXPECT_EQ(all.box, stored_box(published.step, block, block.arrays[1]));
        EXPECT_EQ(all.pieces[0].source, (Box::of(all.box.extents())));
    }
    EXPECT_THROW((void)planner.plan_block(published.step, 1000), ModelError);
    EXPECT_THROW(ReadPlanner(published.step, 99), ModelError);
    EXPECT_THROW((void)planner.plan({{0, 0, 0}, {-1, 1, 1}}), ModelError);
}

/// Return n x n x n blocks with 8 elements on each side that share vertices, 4 per rank, in random
/// order.
StepInfo grid_of_blocks(Random& random, std::int64_t n, std::uint16_t ghosts) {
    StepInfo step;
    step.coordsets = {{"coords", UniformCoords{}}};
    step.topologies = {{"mesh", 0, 3, {{0, 0, 0}, {8 * n, 8 * n, 8 * n}}}};
    step.fields = {{"u", 0, Association::vertex, ScalarType::float64, 1, {}}};
    for_each_index({{}, {n, n, n}}, [&](const Extent& i) {
        Block block = Block::with_elements(Box::at({8 * i[0], 8 * i[1], 8 * i[2]}, {8, 8, 8}));
        block.id = step.blocks.size();
        block.rank = static_cast<std::uint32_t>(block.id / 4);
        StoredArray array;
        array.ghosts = {{ghosts, ghosts, ghosts}, {ghosts, ghosts, ghosts}};
        array.layout = interleaved(grow(block.vertices, array.ghosts).extents(), 1, 8);
        block.arrays = {array};
        step.blocks.push_back(block);
    });
    std::shuffle(step.blocks.begin(), step.blocks.end(), random);
    return step;
}

TEST(StagingPlan, WorkIsNearlyLinearInTheNumberOfBlocks) {
    Random random(6);
    std::map<std::int64_t, double> each;
    for (const std::int64_t n : {8, 16, 32}) {
        const StepInfo step = grid_of_blocks(random, n, 1);
        const ReadPlan plan = ReadPlanner(step, 0).plan(vertices_of(step.topologies[0].elements));
        EXPECT_TRUE(plan.missing.empty());
        std::int64_t volume = 0;
        for (const Piece& piece : plan.pieces)
            volume += piece.target.volume();
        EXPECT_EQ(volume, plan.box.volume());
        const auto blocks = static_cast<double>(step.blocks.size());
        EXPECT_LT(static_cast<double>(plan.pieces.size()), 2 * blocks) << "few pieces a block";
        each[n] = static_cast<double>(plan.comparisons) / blocks;
    }
    // With 64 times the blocks, pairwise comparison would cost 64 times as much per block, a tree
    // slightly more.
    EXPECT_LT(each[32], 2.5 * each[8]);
    EXPECT_LT(each[32], 400);
}

TEST(StagingPlan, TheCostOfASmallBoxIsSublinearInTheBlocks) {
    Random random(7);
    const StepInfo step = grid_of_blocks(random, 32, 0);
    const ReadPlanner planner(step, 0);
    const ReadPlan plan = planner.plan(Box::at({100, 100, 100}, {16, 16, 16}));
    EXPECT_TRUE(plan.missing.empty());
    EXPECT_LE(plan.pieces.size(), 2u * 27);
    EXPECT_LT(plan.comparisons, step.blocks.size() / 4);
}

TEST(StagingPlan, FindsTheFewBlocksThatAreMissingAmongThousands) {
    Random random(8);
    StepInfo step = grid_of_blocks(random, 16, 0);
    step.fields[0].association = Association::element;
    for (Block& block : step.blocks)
        block.arrays[0].layout = interleaved(block.elements.extents(), 1, 8);
    const std::vector<Box> lost{step.blocks[3].elements, step.blocks[2000].elements};
    step.blocks[3].arrays.clear();
    step.blocks[2000].arrays.clear();
    const ReadPlan plan = ReadPlanner(step, 0).plan(step.topologies[0].elements);
    std::int64_t volume = 0;
    for (const Box& box : plan.missing) {
        volume += box.volume();
        EXPECT_TRUE(lost[0].contains(box) || lost[1].contains(box));
    }
    EXPECT_EQ(volume, lost[0].volume() + lost[1].volume());
    EXPECT_LE(plan.missing.size(), 4u) << "gaps are merged boxes";
    EXPECT_LT(plan.comparisons, 400 * step.blocks.size());
}

} // namespace
} // namespace uzushio::staging
