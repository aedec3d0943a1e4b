// Components of the ray caster on one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "raycast/active_bricks.hpp"
#include "raycast/axis.hpp"
#include "raycast/bricks.hpp"
#include "raycast/cast.hpp"
#include "raycast/transfer_table.hpp"

namespace uzushio::raycast {
namespace {

std::array<float, lanes> values_of(Floats values) {
    std::array<float, lanes> result;
    store(result.data(), values);
    return result;
}

std::array<std::int32_t, lanes> values_of(Ints values) {
    std::array<std::int32_t, lanes> result;
    store(result.data(), values);
    return result;
}

Floats some(std::mt19937& random, float low, float high) {
    std::array<float, lanes> result;
    std::uniform_real_distribution<float> uniform(low, high);
    std::generate(result.begin(), result.end(), [&] { return uniform(random); });
    return load(result.data());
}

TEST(Simd, PowersAndLogarithmsAreAsAccurateAsStated) {
    std::mt19937 random(1);
    for (int repeat = 0; repeat < 2000; ++repeat) {
        const auto x = some(random, -100, 3);
        const auto power = values_of(exp2(x)), exponent = values_of(x);
        for (int i = 0; i < lanes; ++i)
            ASSERT_NEAR(power[i] / std::exp2(static_cast<double>(exponent[i])), 1, 4e-7);
        const auto y = some(random, 1e-6F, 10);
        const auto log = values_of(log2(y)), number = values_of(y);
        for (int i = 0; i < lanes; ++i)
            ASSERT_NEAR(log[i], std::log2(static_cast<double>(number[i])), 3e-5);
    }
    EXPECT_EQ(values_of(exp2(floats(0)))[7], 1.0F); // a medium that absorbs nothing changes nothing
    EXPECT_EQ(values_of(exp2(-floats(0)))[0], 1.0F);
}

TEST(Simd, GathersReadTheSameAsALoop) {
    std::vector<float> data(4096);
    std::mt19937 random(2);
    for (auto& v : data)
        v = std::uniform_real_distribution<float>(-1, 1)(random);
    std::array<std::int32_t, lanes> at;
    for (auto& i : at)
        i = std::uniform_int_distribution<std::int32_t>(0, 1000)(random);
    Floats a, b, c, d, first_of, second;
    gather_fours(data.data(), load(at.data()), a, b, c, d);
    gather_pairs(data.data(), load(at.data()), first_of, second);
    for (int i = 0; i < lanes; ++i) {
        EXPECT_EQ(values_of(a)[i], data[4 * at[i]]);
        EXPECT_EQ(values_of(b)[i], data[4 * at[i] + 1]);
        EXPECT_EQ(values_of(c)[i], data[4 * at[i] + 2]);
        EXPECT_EQ(values_of(d)[i], data[4 * at[i] + 3]);
        EXPECT_EQ(values_of(first_of)[i], data[at[i]]);
        EXPECT_EQ(values_of(second)[i], data[at[i] + 1]);
    }
}

TEST(Axis, FindsCellsAsASearchDoes) {
    std::mt19937 random(3);
    for (const double widest : {1.0, 30.0, 1e4}) {
        std::vector<double> points{-3};
        for (int i = 0; i < 150; ++i)
            points.push_back(points.back() +
                             std::uniform_real_distribution<double>(1, widest)(random));
        const Axis axis(points);
        const auto limits = axis.limits(0, 150);
        for (int repeat = 0; repeat < 500; ++repeat) {
            const Floats position = some(random, -1, axis.bins() + 1);
            const auto place = axis.locate(position, limits);
            const auto cells = values_of(place.cell);
            const auto parts = values_of(place.fraction), at = values_of(position);
            for (int i = 0; i < lanes; ++i) {
                const double x = std::clamp(points.front() + at[i] / axis.scale(), points.front(),
                                            points.back());
                ASSERT_GE(cells[i], 0);
                ASSERT_LE(cells[i], 149);
                ASSERT_NEAR(points[cells[i]] + parts[i] * (points[cells[i] + 1] - points[cells[i]]),
                            x, 2e-6 * (points.back() - points.front()));
            }
        }
        // Within limits the axis finds the same cells, and none outside.
        const auto part = axis.limits(40, 60);
        const auto cells = values_of(axis.cell(some(random, -1, axis.bins() + 1), part));
        EXPECT_GE(*std::min_element(cells.begin(), cells.end()), 40);
        EXPECT_LE(*std::max_element(cells.begin(), cells.end()), 59);
    }
    EXPECT_THROW(Axis(std::vector<double>{1}), std::invalid_argument);
    EXPECT_THROW(Axis((std::vector<double>{1, 2, 2})), std::invalid_argument);
}

TEST(Bricks, HoldTheRangesOfAllTheirFinitePoints) {
    const Index points{21, 10, 18};
    std::vector<float> data(21 * 10 * 18);
    std::mt19937 random(4);
    for (auto& v : data)
        v = std::uniform_real_distribution<float>(-1, 1)(random);
    data[5] = std::nanf("");
    data[6] = INFINITY;
    data[7] = -INFINITY;
    PointValues field{data.data(), false, true, {1, 21, 210}};
    const Bricks bricks(field, points, 2);
    constexpr int size = Bricks::size;
    ASSERT_EQ(bricks.count,
              (Index{(20 + size - 1) / size, (9 + size - 1) / size, (17 + size - 1) / size}));
    for (int z = 0; z < bricks.count[2]; ++z)
        for (int y = 0; y < bricks.count[1]; ++y)
            for (int x = 0; x < bricks.count[0]; ++x) {
                float low = 9, high = -9;
                for (int k = size * z; k <= std::min(size * (z + 1), 17); ++k)
                    for (int j = size * y; j <= std::min(size * (y + 1), 9); ++j)
                        for (int i = size * x; i <= std::min(size * (x + 1), 20); ++i) {
                            const float value = data[i + 21 * (j + 10 * k)];
                            low = std::isfinite(value) ? std::min(low, value) : low;
                            high = std::isfinite(value) ? std::max(high, value) : high;
                        }
                EXPECT_EQ(bricks.low[bricks.number(x, y, z)], low);
                EXPECT_EQ(bricks.high[bricks.number(x, y, z)], high);
                EXPECT_EQ(bricks.has_nonfinite[bricks.number(x, y, z)],
                          x == 5 / size && y + z == 0);
            }
    EXPECT_TRUE(bricks.any_nonfinite);
}

TEST(ActiveBricks, HaveABitForEachBrickAndItsFollowersAtEachSize) {
    const Index points{41, 33, 65};
    std::vector<float> data(41 * 33 * 65);
    std::mt19937 random(7);
    for (int i = 0; i < 12; ++i)
        data[std::uniform_int_distribution<std::size_t>(0, data.size() - 1)(random)] = 1;
    Scene scene;
    scene.fields = {"f"};
    for (const int n : points) {
        std::vector<double> x(n);
        std::iota(x.begin(), x.end(), 0);
        scene.axes.emplace_back(x);
    }
    Isosurface surface;
    surface.values = {0.5};
    scene.layers = {surface};
    const Block block({0, 0, 0}, points, {0, 0, 0}, {40, 32, 64},
                      {{data.data(), false, true, {1, 41, 41 * 33}}});
    const auto active_bricks = find_active_bricks(scene, block, [](std::size_t) { return 0UL; }, 1);
    EXPECT_TRUE(active_bricks.any);
    EXPECT_FALSE(active_bricks.all);
    /// Return whether a point of the brick, shared ones included, has the value.
    const auto shows = [&](int size, int bx, int by, int bz) {
        for (int z = bz * size; z <= std::min((bz + 1) * size, 64); ++z)
            for (int y = by * size; y <= std::min((by + 1) * size, 32); ++y)
                for (int x = bx * size; x <= std::min((bx + 1) * size, 40); ++x)
                    if (data[x + 41 * (y + 33 * z)] > 0)
                        return true;
        return false;
    };
    ASSERT_GE(active_bricks.levels.size(), 4UL);
    int seen = 0;
    for (std::size_t level = 0; level < active_bricks.levels.size(); ++level) {
        const auto& bricks = active_bricks.levels[level];
        const auto [nx, ny, nz] = bricks.count;
        const int size = Bricks::size << level;
        ASSERT_EQ(bricks.count,
                  (Index{(40 + size - 1) / size, (32 + size - 1) / size, (64 + size - 1) / size}));
        ASSERT_EQ(bricks.following.size(), static_cast<std::size_t>(nx * ny * nz) + 3);
        for (int k = 0; k < nz; ++k)
            for (int j = 0; j < ny; ++j)
                for (int i = 0; i < nx; ++i)
                    for (int bit = 0; bit < 8; ++bit) {
                        const int x = i + (bit & 1), y = j + (bit >> 1 & 1), z = k + (bit >> 2);
                        const bool expected = x < nx && y < ny && z < nz && shows(size, x, y, z);
                        EXPECT_EQ(bricks.following[i + nx * (j + ny * k)] >> bit & 1, expected);
                        seen += expected;
                    }
    }
    EXPECT_EQ(active_bricks.levels.back().count, (Index{1, 1, 1}));
    EXPECT_GT(seen, 100);
}

TEST(TransferTable, IsTheMeanBetweenTwoValues) {
    const std::vector<TransferPoint> points{
        {0, {0, 0, 1, 0}}, {1, {0, 1, 0, 0.2F}}, {1, {1, 0, 0, 0.6F}}, {3, {1, 1, 0, 0}}};
    const TransferTable table(points, {1, 0, 1, 0.5F});
    std::mt19937 random(5);
    const auto exact = [&](double value) {
        if (value < 1)
            return -std::log2(1 - 0.2 * std::clamp(value, 0.0, 1.0));
        return -std::log2(1 - 0.6 * (1 - (std::clamp(value, 1.0, 3.0) - 1) / 2));
    };
    for (int repeat = 0; repeat < 100; ++repeat) {
        const auto a = some(random, -0.5F, 3.5F), b = some(random, -0.5F, 3.5F);
        const auto found = values_of(table(a, b, 0).extinction);
        for (int i = 0; i < lanes; ++i) {
            double mean = 0;
            for (int s = 0; s < 1000; ++s)
                mean += exact(values_of(a)[i] +
                              (s + 0.5) / 1000 * (values_of(b)[i] - values_of(a)[i])) /
                        1000;
            ASSERT_NEAR(found[i], mean, 0.07);
        }
    }
    EXPECT_FLOAT_EQ(values_of(table(floats(std::nanf("")), floats(1), 0).extinction)[3], 1);
}

TEST(TransferTable, IsZeroWhereItIsNotVisible) {
    const std::vector<TransferPoint> points{
        {-1, {1, 1, 1, 0}}, {0.5, {1, 1, 1, 0}}, {0.5, {1, 1, 1, 1}}, {2, {1, 1, 1, 1}}};
    const TransferTable table(points, {});
    EXPECT_TRUE(table.visible(0.4, 0.6));
    EXPECT_FALSE(table.visible(-7, 0.49));
    EXPECT_TRUE(table.visible(7, 9));
    EXPECT_FALSE(table.visible(1, -1)); // a brick without finite values
    std::mt19937 random(6);
    for (int repeat = 0; repeat < 2000; ++repeat) {
        const auto a = some(random, -1, 1), b = some(random, -1, 1);
        const auto found = values_of(table(a, b, 0).extinction);
        const auto ends_a = values_of(a), ends_b = values_of(b);
        for (int i = 0; i < lanes; ++i) {
            const auto [low, high] = std::minmax(ends_a[i], ends_b[i]);
            if (!table.visible(low, high)) {
                ASSERT_EQ(found[i], 0) << low << " to " << high;
            }
        }
    }
}

} // namespace
} // namespace uzushio::raycast
