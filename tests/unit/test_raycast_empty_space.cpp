// Empty space is skipped, and no pixel changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "raycast/ray_marcher.hpp"

namespace uzushio::raycast {
namespace {

constexpr int side = 48; // of a picture

double uniform(std::mt19937& random, double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
}

std::array<float, lanes> values_of(Floats values) {
    std::array<float, lanes> result;
    store(result.data(), values);
    return result;
}

Camera camera_towards(std::mt19937& random, const Vector3& target, double distance) {
    Vector3 away{uniform(random, -1, 1), uniform(random, -1, 1), uniform(random, -1, 1)};
    away = (1 / norm(away)) * away;
    Camera camera;
    camera.perspective = uniform(random, 0, 1) < 0.5;
    camera.position = target + distance * away;
    camera.forward = -1 * away;
    Vector3 right{away[1], -away[0], 0};
    camera.right = (1 / norm(right)) * right;
    camera.up = cross(camera.right, camera.forward);
    camera.half_height = camera.perspective ? 0.6 : distance * 0.6;
    return camera;
}

/// A random scene with a few objects in much empty space, and a random camera.
struct Case {
    explicit Case(unsigned seed) : random(seed) {
        const bool stretched = uniform(random, 0, 1) < 0.5;
        for (std::size_t a = 0; a < 3; ++a) {
            points[a] = static_cast<int>(uniform(random, 9, 60));
            std::vector<double> x{0};
            while (x.size() < static_cast<std::size_t>(points[a]))
                x.push_back(x.back() + (stretched ? uniform(random, 0.1, 1) : 0.5));
            scene.axes.emplace_back(x);
        }
        const Vector3 size = scene.high();
        const Vector3 middle = 0.5 * size;
        data.resize(static_cast<std::size_t>(points[0]) * points[1] * points[2]);
        std::vector<Vector3> things;
        for (int i = 0; i < 4; ++i)
            things.push_back({uniform(random, 0, size[0]), uniform(random, 0, size[1]),
                              uniform(random, 0, size[2])});
        std::size_t i = 0;
        for (int z = 0; z < points[2]; ++z)
            for (int y = 0; y < points[1]; ++y)
                for (int x = 0; x < points[0]; ++x, ++i) {
                    const Vector3 at{scene.axes[0].points()[x], scene.axes[1].points()[y],
                                     scene.axes[2].points()[z]};
                    for (const auto& thing : things)
                        data[i] += static_cast<float>(std::exp(-dot(at - thing, at - thing)));
                }
        if (seed % 8 == 0) { // slices and the bounding box only
            std::fill(data.begin(), data.end(), 0.0F);
            scene.bounding_box = Rgba{1, 1, 1, 0.5F};
        }
        const double bad = uniform(random, 0, 1);
        for (int n = 0; bad < 0.4 && n < 20; ++n)
            data[std::uniform_int_distribution<std::size_t>(0, data.size() - 1)(random)] =
                bad < 0.2 ? std::nanf("") : INFINITY;
        const std::vector<TransferPoint> transfer_points{{0.2, {1, 0, 0, 0}},
                                                         {0.5, {0, 1, 0, 0.6F}},
                                                         {0.6, {0, 0, 1, 0.9F}},
                                                         {0.9, {1, 1, 1, 0}}};
        scene.fields = {"f"};
        scene.step = uniform(random, 0.1, uniform(random, 0, 1) < 0.3 ? 12 : 1.5);
        scene.step_in_cells = 2 * scene.step; // of the mean width of cells
        const auto kind = static_cast<int>(uniform(random, 0, 4));
        if (kind != 1) {
            Volume volume;
            volume.transfer = std::make_shared<TransferTable>(transfer_points, Rgba{});
            volume.unit_distance = uniform(random, 0.1, 3);
            scene.layers.emplace_back(volume);
        }
        if (kind > 0) {
            Isosurface surface;
            surface.values = {0.3, 0.7};
            surface.color = {1, 0.5F, 0, 1};
            surface.opacity = 0.4F;
            scene.layers.emplace_back(surface);
        }
        if (kind > 2) {
            Slice slice;
            slice.origin = middle;
            slice.normal = {1, 0.5, -0.3};
            const std::vector<Rgba> rows{{0, 0, 0, 0.3F}, {1, 1, 1, 0.8F}};
            slice.colors = std::make_shared<ColorTable>(rows, 0, 1, rows[0], rows[1], Rgba{});
            scene.layers.emplace_back(slice);
        }
        // From close, with narrow packets, to so far that a packet contains many bricks.
        camera = camera_towards(random, middle, norm(size) * std::exp(uniform(random, -1.5, 3)));
        block = std::make_unique<Block>(
            Index{0, 0, 0}, points, Index{0, 0, 0},
            Index{points[0] - 1, points[1] - 1, points[2] - 1},
            std::vector<PointValues>{
                {data.data(),
                 false,
                 true,
                 {1, points[0], static_cast<std::int64_t>(points[0]) * points[1]}}});
        const BlockSource source{block.get(), {0}};
        plan = std::make_unique<CastPlan>(scene, camera, side, side, std::span(&source, 1), 1);
    }

    std::mt19937 random;
    Scene scene;
    Camera camera;
    Index points{};
    std::vector<float> data;
    std::unique_ptr<Block> block;
    std::unique_ptr<CastPlan> plan;
};

std::vector<float> drawn(const CastPlan& plan) {
    RayMarcher marcher(plan, true);
    std::vector<float> result;
    for (int row = 0; row < side; row += RayPacket::side)
        for (int column = 0; column < side; column += RayPacket::side) {
            const PacketPixels pixels = marcher.draw(column, row);
            for (const Floats some :
                 {pixels.red, pixels.green, pixels.blue, pixels.transmittance, pixels.depth})
                for (const float value : values_of(some))
                    result.push_back(value);
        }
    for (const auto hits : marcher.hits())
        result.push_back(static_cast<float>(hits));
    return result;
}

TEST(EmptySpaceSkipper, ChangesNoPixel) {
    int drew = 0, skipped = 0;
    for (unsigned seed = 0; seed < 150; ++seed) {
        Case some(seed);
        const auto picture = drawn(*some.plan);
        for (VisibleBlock& block : some.plan->blocks) {
            skipped += !block.active_bricks.all;
            block.active_bricks.all = true; // as if something were visible everywhere
        }
        const auto expected = drawn(*some.plan);
        ASSERT_TRUE(picture == expected) << "seed " << seed; // to the last bit
        drew += std::any_of(picture.begin(), picture.end() - 3,
                            [](float value) { return value > 0 && value < 1; });
    }
    EXPECT_GT(drew, 100);
    EXPECT_GT(skipped, 100);
}

/// Return marks of all cells: those of a field that changes its sign in each of them.
CrossedCells all_cells(const Index& points) {
    std::vector<float> signs;
    for (int z = 0; z < points[2]; ++z)
        for (int y = 0; y < points[1]; ++y)
            for (int x = 0; x < points[0]; ++x)
                signs.push_back((x + y + z) % 2 == 0 ? -1.0F : 1.0F);
    const std::int64_t row = points[0];
    const PointValues field{signs.data(), false, true, {1, row, row * points[1]}};
    CrossedCells cells;
    cells.add(field, Bricks(field, points, 1), points, 0, 0, 1);
    return cells;
}

// Segments without crossed cells are drawn by the fast path for volumes, all others by the general
// one. The two multiply extinction, length and unit distance in different order, so results may
// differ in the last bit (in one pixel of these scenes, by 7e-12).
TEST(EmptySpaceSkipper, ChangesPixelsByRoundingOnlyIfEveryCellIsMarked) {
    int equal = 0;
    for (unsigned seed = 0; seed < 150; ++seed) {
        Case some(seed);
        const auto picture = drawn(*some.plan);
        for (VisibleBlock& block : some.plan->blocks) {
            block.active_bricks.all = true;
            block.crossed = all_cells(some.points);
        }
        const auto expected = drawn(*some.plan);
        equal += picture == expected;
        ASSERT_EQ(picture.size(), expected.size());
        for (std::size_t i = 0; i < picture.size(); ++i) {
            if (picture[i] != expected[i]) { // both may be infinite
                ASSERT_NEAR(picture[i], expected[i], 1e-6) << "seed " << seed;
            }
        }
    }
    EXPECT_GT(equal, 140);
}

TEST(EmptySpaceSkipper, SkipsMostEmptySegmentsAndNoActiveBrick) {
    std::int64_t passed = 0, visited = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        Case some(seed);
        for (const VisibleBlock& block : some.plan->blocks) {
            if (block.active_bricks.all || !block.active_bricks.any)
                continue;
            const auto& bricks = block.active_bricks.levels.front();
            for (int n = 0; n < 20; ++n) {
                const int column = static_cast<int>(uniform(some.random, 0, side / 4)) * 4;
                const int row = static_cast<int>(uniform(some.random, 0, side / 4)) * 4;
                const RayPacket packet(some.scene, some.camera, side, side, column, row);
                if (!any(packet.hits))
                    continue;
                const PacketBounds bounds(packet);
                SegmentEnds ends(some.scene);
                ends.compute(bounds);
                EmptySpaceSkipper skipper(*some.plan, block, bounds, ends);
                const std::int32_t end = ends.count();
                const bool volumes = !some.plan->volumes.empty();
                /// Return whether a ray has a sample at this end of a segment in an active brick
                /// or, without volumes, in a crossed cell.
                const auto shows = [&](std::int32_t k) {
                    const Floats at = min(floats(ends[k]), packet.length);
                    const SamplePositions positions = block.sampler.locate(packet, at);
                    if (!volumes) {
                        const auto corners =
                            block.sampler.corners(*block.fields[0], 0, positions.cell);
                        Mask cut = no_lanes();
                        for (const float value : {0.3F, 0.7F}) {
                            Mask below = no_lanes(), above = no_lanes(), bad = no_lanes();
                            for (const Floats corner : corners) {
                                bad = bad | ~is_finite(corner);
                                below = below | less(corner, floats(value));
                                above = above | less_equal(floats(value), corner);
                            }
                            cut = cut | (below & above & ~bad);
                        }
                        return any(packet.hits & cut & less(floats(ends[k]), packet.length));
                    }
                    const Ints number =
                        (positions.cell[0] >> Bricks::shift) +
                        bricks.count[0] * ((positions.cell[1] >> Bricks::shift) +
                                           bricks.count[1] * (positions.cell[2] >> Bricks::shift));
                    const Mask active =
                        equal(gather_bytes(bricks.following.data(), number) & 1, ints(1));
                    return any(packet.hits & active & less(floats(ends[k]), packet.length));
                };
                std::int32_t k = 0;
                while (k < end) {
                    const auto range = skipper.next(k, end);
                    ASSERT_GE(range.begin, k);
                    ASSERT_LE(range.end, end);
                    for (; k < range.begin; ++k, ++passed) {
                        ASSERT_FALSE(shows(k)) << "seed " << seed << ", segment " << k;
                        ASSERT_FALSE(k + 1 < end && shows(k + 1)) << "seed " << seed;
                    }
                    visited += range.end - range.begin;
                    k = range.end;
                    if (range.begin == range.end)
                        break;
                }
            }
        }
    }
    EXPECT_GT(passed, visited);
}

} // namespace
} // namespace uzushio::raycast
