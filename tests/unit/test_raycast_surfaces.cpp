// Surfaces cell by cell: cubics along rays, crossed cells, and ends of segments.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "raycast/crossed_cells.hpp"
#include "raycast/cubic.hpp"
#include "raycast/segment_ends.hpp"

namespace uzushio::raycast {
namespace {

std::array<float, lanes> values_of(Floats values) {
    std::array<float, lanes> result;
    store(result.data(), values);
    return result;
}

Floats some(std::mt19937& random, float low, float high) {
    std::array<float, lanes> result;
    std::uniform_real_distribution<float> uniform(low, high);
    std::generate(result.begin(), result.end(), [&] { return uniform(random); });
    return load(result.data());
}

/// Interpolate in double precision.
double trilinear(const std::array<double, 8>& corner, const std::array<double, 3>& at) {
    double result = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        double weight = corner[i];
        for (std::size_t a = 0; a < 3; ++a)
            weight *= (i >> a & 1) != 0 ? at[a] : 1 - at[a];
        result += weight;
    }
    return result;
}

TEST(Cubic, HasTheRootsOfTheTrilinearFunctionAlongTheLine) {
    std::mt19937 random(8);
    int several = 0, hidden = 0;
    for (int repeat = 0; repeat < 3000; ++repeat) {
        std::array<Floats, 8> corners;
        for (auto& corner : corners)
            corner = some(random, -1, 1);
        std::array<Floats, 3> begin, end;
        for (std::size_t a = 0; a < 3; ++a) {
            begin[a] = some(random, 0, 1);
            end[a] = some(random, 0, 1);
        }
        const Cubic cubic(corners, begin, end);
        const auto roots = cubic.roots();
        const auto first = values_of(cubic.first_root());
        for (int lane = 0; lane < lanes; ++lane) {
            std::array<double, 8> c;
            for (std::size_t i = 0; i < 8; ++i)
                c[i] = values_of(corners[i])[lane];
            const auto value = [&](double s) {
                std::array<double, 3> at;
                for (std::size_t a = 0; a < 3; ++a)
                    at[a] = values_of(begin[a])[lane] +
                            s * (values_of(end[a])[lane] - values_of(begin[a])[lane]);
                return trilinear(c, at);
            };
            // Count changes of sign at many positions; near a double root either number is right.
            std::vector<double> expected;
            constexpr int parts = 200;
            double nearest = 1, before = value(0);
            for (int i = 0; i < parts; ++i) {
                const double after = value((i + 1.0) / parts);
                if ((before < 0) != (after < 0))
                    expected.push_back((i + before / (before - after)) / parts);
                else
                    nearest = std::min({nearest, std::abs(before), std::abs(after)});
                before = after;
            }
            std::vector<double> found;
            for (std::size_t i = 0; i < 3; ++i)
                if ((bits_of(roots.there[i]) >> lane & 1U) != 0)
                    found.push_back(values_of(roots.at[i])[lane]);
            const bool vanishes = (bits_of(cubic.vanishes()) >> lane & 1U) != 0;
            ASSERT_EQ(vanishes, !found.empty());
            if (nearest < 1e-3 && found.size() != expected.size())
                continue;
            ASSERT_EQ(found.size(), expected.size());
            for (std::size_t i = 0; i < found.size(); ++i)
                ASSERT_NEAR(value(found[i]), 0, 1e-4);
            if (!found.empty()) {
                ASSERT_EQ(first[lane], static_cast<float>(found.front()));
                ASSERT_NEAR(found.front(), expected.front(), 2.0 / parts);
            }
            several += found.size() > 1;
            hidden += found.size() == 2; // the signs at the ends are equal
        }
        if (repeat > 200 && several > 300)
            break;
    }
    EXPECT_GT(several, 100);
    EXPECT_GT(hidden, 100);
}

TEST(Cubic, HasNoRootWhereNoCornerIsNegative) {
    std::mt19937 random(9);
    for (int repeat = 0; repeat < 20000; ++repeat) {
        std::array<Floats, 8> corners;
        for (auto& corner : corners) { // of very different magnitudes, 0 among them
            const Floats size = exp2(some(random, -30, 0));
            corner = max(some(random, -0.3F, 1), floats(0)) * size;
        }
        std::array<Floats, 3> begin, end;
        for (std::size_t a = 0; a < 3; ++a) {
            begin[a] = min(max(some(random, -0.2F, 1.2F), floats(0)), floats(1));
            end[a] = min(max(some(random, -0.2F, 1.2F), floats(0)), floats(1));
        }
        const Cubic cubic(corners, begin, end);
        ASSERT_FALSE(any(cubic.may_vanish()));
        ASSERT_FALSE(any(less(cubic.begin(), floats(0))));
    }
}

TEST(CrossedCells, HaveAPointBelowAndOneNotBelowForAnyLayout) {
    std::mt19937 random(10);
    const Index points{21, 6, 7};
    std::vector<float> thin(21 * 6 * 7);
    const double level = 0.9; // few points are not below it
    for (auto& value : thin)
        value = std::uniform_real_distribution<float>(-1, 1)(random);
    for (int i = 0; i < 10; ++i)
        thin[std::uniform_int_distribution<std::size_t>(0, thin.size() - 1)(random)] = quiet_nan;
    std::vector<double> wide(thin.begin(), thin.end());
    std::vector<float> apart(3 * thin.size());
    for (std::size_t i = 0; i < thin.size(); ++i)
        apart[3 * i + 1] = thin[i];
    const std::array<PointValues, 3> views{{{thin.data(), false, true, {1, 21, 126}},
                                            {wide.data(), true, true, {1, 21, 126}},
                                            {apart.data() + 1, false, false, {3, 63, 378}}}};
    const auto crossed = [&](int x, int y, int z) {
        int below = 0;
        for (int i = 0; i < 8; ++i)
            below += thin[x + (i & 1) + 21 * (y + (i >> 1 & 1) + 6 * (z + (i >> 2)))] < level;
        return below > 0 && below < 8;
    };
    std::array<CrossedCells, 3> cells;
    for (std::size_t i = 0; i < 3; ++i)
        cells[i].add(views[i], Bricks(views[i], points, 1), points, 0.25, level, 1);
    int empty = 0;
    for (int repeat = 0; repeat < 1000; ++repeat) {
        Index low, high;
        for (std::size_t a = 0; a < 3; ++a) {
            low[a] = std::uniform_int_distribution<int>(0, points[a] - 2)(random);
            const int last = std::min(points[a] - 2, low[a] + repeat % 8);
            high[a] = std::uniform_int_distribution<int>(low[a], last)(random);
        }
        bool expected = false;
        for (int z = low[2]; z <= high[2]; ++z)
            for (int y = low[1]; y <= high[1]; ++y)
                for (int x = low[0]; x <= high[0]; ++x)
                    expected = expected || crossed(x, y, z);
        empty += !expected;
        for (const CrossedCells& some_cells : cells)
            EXPECT_EQ(some_cells.any_in(low, high), expected);
    }
    EXPECT_GT(empty, 100);
    EXPECT_LT(empty, 900);
}

TEST(SegmentEnds, AreAStepApartOnUniformAxesAndAtMostACellOnStretchedOnes) {
    int halved = 0;
    for (int repeat = 0; repeat < 40; ++repeat) {
        Scene scene;
        const bool even = repeat % 4 == 0;
        for (int a = 0; a < 3; ++a) {
            std::vector<double> x{0};
            while (x.size() < 60) {
                const double at = static_cast<double>(x.size()) / 60;
                x.push_back(x.back() + (even ? 0.5 : 0.02 + std::pow(at, 1 + repeat % 3)));
            }
            scene.axes.emplace_back(x);
        }
        scene.step = 0.5;
        Camera camera;
        camera.position = {60, 40, -50};
        camera.forward = (1 / norm(camera.position)) * (Vector3{15, 15, 15} - camera.position);
        camera.forward = (1 / norm(camera.forward)) * camera.forward;
        const Vector3 right{camera.forward[1], -camera.forward[0], 0};
        camera.right = (1 / norm(right)) * right;
        camera.up = cross(camera.right, camera.forward);
        camera.half_height = 0.3;
        const RayPacket packet(scene, camera, 64, 64, 4 * (repeat % 16), 32);
        if (!any(packet.hits))
            continue;
        const PacketBounds bounds(packet);
        SegmentEnds ends(scene);
        ends.compute(bounds);
        ASSERT_EQ(ends[0], 0);
        ASSERT_GE(ends[ends.count()], bounds.length);
        std::int32_t shorter = 0;
        for (std::int32_t k = 0; k < ends.count(); ++k) {
            const float length = ends[k + 1] - ends[k];
            ASSERT_GT(length, 0);
            ASSERT_LE(length, 0.5F * 1.0001F);
            shorter += length < 0.49F;
            const Floats middle = floats((ends[k] + ends[k + 1]) / 2);
            ASSERT_EQ(values_of(to_floats(ends.segment_at(middle)))[3], static_cast<float>(k));
            for (std::size_t a = 0; a < 3; ++a) {
                const Axis& axis = scene.axes[a];
                const auto place =
                    axis.locate(packet.position(a, middle), axis.limits(0, axis.cells()));
                for (int lane = 0; lane < lanes; ++lane) {
                    if ((bits_of(packet.hits) >> lane & 1U) == 0)
                        continue;
                    const auto cell = static_cast<std::size_t>(place.cell[lane]);
                    const double width = axis.points()[cell + 1] - axis.points()[cell];
                    ASSERT_LE(length * std::abs(packet.direction[a][lane]), 1.02 * width);
                }
            }
        }
        halved += shorter > 0;
        if (even) {
            EXPECT_EQ(shorter, 0);
            continue;
        }
        // About one for each cell on a ray, fewer than with steps of the narrowest cell.
        EXPECT_LT(ends.count(), 4 * 180 + bounds.length / 0.5F + 1);
    }
    EXPECT_GT(halved, 5);
}

} // namespace
} // namespace uzushio::raycast
