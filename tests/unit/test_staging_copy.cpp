#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "staging/datamodel/copy.hpp"
#include "staging/datamodel/run_cursor.hpp"
#include "staging/datamodel/tile_cutter.hpp"
#include "support/random_array.hpp"

namespace uzushio::staging {
namespace {

using namespace arrays;

constexpr std::array<std::int64_t, 10> sizes{1, 2, 3, 4, 5, 8, 12, 16, 24, 40};

TEST(StagingCopy, CopiesASubBoxBetweenAnyTwoLayoutsOnly) {
    Random random(1);
    for (int round = 0; round < 2000; ++round) {
        Extent part{}, from_count{}, to_count{};
        for (std::size_t a = 0; a < 3; ++a) {
            part[a] = draw(random, 0, 6);
            from_count[a] = part[a] + draw(random, 0, 3);
            to_count[a] = part[a] + draw(random, 0, 3);
        }
        const std::int64_t components = draw(random, 1, 4);
        const std::int64_t size = sizes[static_cast<std::size_t>(draw(random, 0, 9))];
        Array from = random_array(random, from_count, components, size);
        Array to = random_array(random, to_count, components, size);
        const auto source = from.view.sub(random_box(random, from_count, part));
        const auto target = to.view.sub(random_box(random, to_count, part));

        std::vector<std::byte> expected = to.memory;
        for (std::int64_t z = 0; z < part[0]; ++z)
            for (std::int64_t y = 0; y < part[1]; ++y)
                for (std::int64_t x = 0; x < part[2]; ++x)
                    for (std::int64_t c = 0; c < components; ++c)
                        std::memcpy(expected.data() + (at(target, z, y, x, c) - to.memory.data()),
                                    at(source, z, y, x, c), static_cast<std::size_t>(size));
        copy(source, target);
        ASSERT_EQ(to.memory, expected) << "round " << round;
    }
}

TEST(StagingRuns, AreInStreamOrderForAnyCut) {
    Random random(2);
    for (int round = 0; round < 1000; ++round) {
        const Extent count{draw(random, 0, 5), draw(random, 1, 5), draw(random, 1, 5)};
        const std::int64_t size = sizes[static_cast<std::size_t>(draw(random, 0, 9))];
        Array array = random_array(random, count, draw(random, 1, 3), size);
        const ConstArrayView view = array.view;
        const ComponentOrder order =
            draw(random, 0, 1) == 0 ? ComponentOrder::interleaved : ComponentOrder::planar;
        const std::vector<std::byte> expected = listed(view, order);

        RunCursor runs(view, order);
        std::vector<std::byte> stream;
        for (;;) {
            ASSERT_EQ(runs.left(), static_cast<std::int64_t>(expected.size() - stream.size()));
            const std::int64_t most = draw(random, 1, 50);
            const auto run = runs.next(most);
            if (run.empty())
                break;
            ASSERT_LE(static_cast<std::int64_t>(run.size()), most);
            stream.insert(stream.end(), run.begin(), run.end());
        }
        ASSERT_EQ(stream, expected) << "round " << round;
    }
}

TEST(StagingRuns, ContiguousAxesAreMergedIntoOne) {
    std::vector<std::byte> memory(4 * 6 * 8 * 12);
    const auto whole = packed_view(memory.data(), {4, 6, 8}, 3, 4);
    EXPECT_EQ(RunCursor(whole, ComponentOrder::interleaved).run_bytes(), whole.bytes());
    EXPECT_EQ(RunCursor(whole.sub(Box::at({1, 0, 0}, {2, 6, 8})), ComponentOrder::interleaved)
                  .run_bytes(),
              2 * 6 * 8 * 12);
    EXPECT_EQ(RunCursor(whole.sub(Box::at({0, 1, 0}, {4, 2, 8})), ComponentOrder::interleaved)
                  .run_bytes(),
              2 * 8 * 12);
    EXPECT_EQ(RunCursor(whole.sub(Box::at({0, 1, 1}, {4, 2, 2})), ComponentOrder::interleaved)
                  .run_bytes(),
              2 * 12);
    EXPECT_EQ(RunCursor(whole.select_components(1, 1), ComponentOrder::interleaved).run_bytes(), 4);

    ArrayView apart = whole;
    apart.layout = planar(apart.count, 4);
    EXPECT_EQ(natural_order(apart.layout), ComponentOrder::planar);
    EXPECT_EQ(RunCursor(apart, ComponentOrder::planar).run_bytes(), whole.bytes());
    EXPECT_EQ(natural_order(whole.layout), ComponentOrder::interleaved);
}

TEST(StagingTiles, ContainEveryValueOnceWithinTheirMaximum) {
    for (const Extent count :
         {Extent{1, 1, 1}, {3, 4, 5}, {7, 1, 40}, {1, 1, 1000}, {0, 3, 3}, {3, 3, 0}})
        for (const std::int64_t components : {1, 3, 70})
            for (const ComponentOrder order : {ComponentOrder::interleaved, ComponentOrder::planar})
                for (const std::int64_t most : {8, 64, 500, 100'000'000}) {
                    std::vector<int> seen(
                        static_cast<std::size_t>(Box::of(count).volume() * components));
                    std::int64_t tiles = 0;
                    TileCutter cutter(count, components, 8, order, most);
                    while (const auto tile = cutter.next()) {
                        ++tiles;
                        EXPECT_FALSE(tile->box.empty());
                        EXPECT_LE(tile->box.volume() * tile->components * 8, most);
                        ASSERT_TRUE((Box::of(count).contains(tile->box)));
                        const Box& box = tile->box;
                        for (std::int64_t z = box.lower[0]; z < box.upper[0]; ++z)
                            for (std::int64_t y = box.lower[1]; y < box.upper[1]; ++y)
                                for (std::int64_t x = box.lower[2]; x < box.upper[2]; ++x)
                                    for (std::int64_t c = 0; c < tile->components; ++c)
                                        ++seen[static_cast<std::size_t>(
                                            ((z * count[1] + y) * count[2] + x) * components +
                                            tile->first_component + c)];
                    }
                    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1),
                              static_cast<std::ptrdiff_t>(seen.size()));
                    if (std::ssize(seen) * 8 <= most) {
                        EXPECT_EQ(tiles, seen.empty() ? 0 : 1);
                    }
                }
}

TEST(StagingCopy, ReachesBeyondFourGibibytes) {
    // Given an array of 5 GiB of which only the pages in use exist.
    const Extent count{5, 1 << 15, 1 << 13};
    const std::int64_t size = 4;
    const std::size_t bytes = 5u * (std::size_t{1} << 30);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    const ArrayView big = packed_view(static_cast<std::byte*>(memory), count, 1, size);
    ASSERT_EQ(big.bytes(), static_cast<std::int64_t>(bytes));
    const Box corner = Box::at({4, (1 << 15) - 3, (1 << 13) - 5}, {1, 3, 5});

    std::vector<std::byte> sent(60), received(60);
    for (std::size_t i = 0; i < sent.size(); ++i)
        sent[i] = static_cast<std::byte>(i + 1);
    copy(packed_view(std::as_const(sent).data(), corner.extents(), 1, size), big.sub(corner));
    copy(big.sub(corner), packed_view(received.data(), corner.extents(), 1, size));

    EXPECT_EQ(received, sent);
    EXPECT_EQ(static_cast<std::byte*>(memory)[bytes - 1], std::byte{60}) << "last byte";
    RunCursor runs(big, ComponentOrder::interleaved);
    EXPECT_EQ(runs.next().size(), bytes) << "one run of more than 4 GiB";
    munmap(memory, bytes);
}

} // namespace
} // namespace uzushio::staging
