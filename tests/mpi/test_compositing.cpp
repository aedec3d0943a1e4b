// Suite that every compositing algorithm must pass, on any number of ranks.
// ranks: 1 2 3 5 16 17
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>

#include "compositing/compositor.hpp"
#include "support/compositing_scenes.hpp"
#include "support/compositing_setup.hpp"

namespace uzushio::compositing {
namespace {

using test::rank;
using test::ranks;
using test::Scene;

constexpr int width = 43, height = 31;
constexpr float far = 100;

/// Return a visibility order for each number, the same on all ranks.
std::vector<int> shuffled(unsigned number) {
    std::vector<int> order(static_cast<std::size_t>(ranks()));
    std::iota(order.begin(), order.end(), 0);
    if (number > 0)
        std::shuffle(order.begin(), order.end(), std::mt19937(number));
    return order;
}

/// Return all ranks' images of a scene in visibility order.
template <class Pixel>
std::vector<std::vector<Pixel>> images(Scene scene, std::span<const int> order) {
    static std::map<Scene, std::vector<std::vector<Pixel>>> known;
    auto& by_rank = known[scene];
    for (int r = static_cast<int>(by_rank.size()); r < ranks(); ++r)
        by_rank.push_back(test::image<Pixel>(scene, r, ranks(), width, height, far));
    std::vector<std::vector<Pixel>> all;
    for (const int r : order)
        all.push_back(by_rank[static_cast<std::size_t>(r)]);
    return all;
}

/// Return the maximum error of this rank's part of a picture. All parts must cover the picture.
template <class Pixel>
double error_of(const Compositor& compositor, const CompositedPixels& result,
                const std::vector<std::vector<Pixel>>& all) {
    int covered = result.region.size();
    MPI_Allreduce(MPI_IN_PLACE, &covered, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(covered, width * height);
    const auto pixels = result.as<Pixel>();
    EXPECT_EQ(pixels.size(), static_cast<std::size_t>(result.region.size()));
    if (result.region.size() == width * height) // a complete image is not interlaced
        return test::error<Pixel>(pixels, all, 0, far);
    double worst = 0;
    for (int p = 0; p < result.region.size(); ++p) {
        const int index = compositor.interlacing().index(result.region.begin + p);
        worst = std::max(worst, test::error<Pixel>(pixels.subspan(static_cast<std::size_t>(p), 1),
                                                   all, static_cast<std::size_t>(index), far));
    }
    return worst;
}

template <class Pixel> constexpr double tolerance = 0.6; // one rounding, with a margin
template <> constexpr double tolerance<RgbaFloat> = 1e-3;
template <> constexpr double tolerance<Rgba8Depth> = 0;

class Algorithms : public testing::TestWithParam<const char*> {
  protected:
    template <class Pixel> static CompositorOptions options() {
        auto result = test::options_of(GetParam(), width, height);
        result.format = test::format_of<Pixel>();
        result.far = far;
        return result;
    }

    /// Composite one picture of a scene; return its maximum error.
    template <class Pixel>
    static double composite(CompositorOptions options, Scene scene, std::span<const int> order) {
        Compositor compositor(MPI_COMM_WORLD, options);
        compositor.set_order(order);
        const auto own = images<Pixel>(scene, std::array{rank()}).front();
        compositor.submit(std::span<const Pixel>(own));
        return error_of<Pixel>(compositor, compositor.finish(), images<Pixel>(scene, order));
    }

    template <class Pixel> static void every_scene_in_every_order() {
        const int root = ranks() / 2;
        unsigned number = 0;
        for (const auto scene :
             {Scene::veils, Scene::surfaces, Scene::discs, Scene::corner, Scene::empty})
            for (const bool gather : {true, false}) {
                auto chosen = options<Pixel>();
                chosen.root = number % 2 == 0 ? 0 : root;
                chosen.gather = gather;
                chosen.interlace = number % 3 == 1 ? 16 : 0;
                EXPECT_LE((composite<Pixel>(chosen, scene, shuffled(number++))), tolerance<Pixel>)
                    << test::name(scene) << (gather ? ", gathered" : ", tiles");
            }
    }
};

TEST_P(Algorithms, OverOnBytesIsRoundedOnceWhateverTheOrder) {
    every_scene_in_every_order<Rgba8>();
}

TEST_P(Algorithms, OverOnFloatsIsExactWhateverTheOrder) { every_scene_in_every_order<RgbaFloat>(); }

TEST_P(Algorithms, TheNearestPixelWinsAndTheOneInFrontAtEqualDepth) {
    every_scene_in_every_order<Rgba8Depth>();
}

TEST_P(Algorithms, RanksOutsideTheOrderSendNothing) {
    auto order = shuffled(7);
    order.resize(order.size() / 2); // empty on one rank
    for (const int root : {0, ranks() - 1})
        for (const bool gather : {true, false}) {
            auto chosen = options<Rgba8>();
            chosen.root = root;
            chosen.gather = gather;
            Compositor compositor(MPI_COMM_WORLD, chosen);
            compositor.set_order(order);
            const auto own =
                test::image<Rgba8>(Scene::surfaces, rank(), ranks(), width, height, far);
            compositor.submit(std::span<const Rgba8>(own));
            const auto result = compositor.finish();
            EXPECT_LE(error_of<Rgba8>(compositor, result, images<Rgba8>(Scene::surfaces, order)),
                      0.6);
            if (std::ranges::find(order, rank()) == order.end()) {
                EXPECT_EQ(compositor.messages(), 0U);
            }
        }
}

TEST_P(Algorithms, PixelsOutsideTheBoundsAreBackground) {
    auto chosen = options<Rgba8>();
    chosen.interlace = 64;
    Compositor compositor(MPI_COMM_WORLD, chosen);
    const auto bounds_of = [](int r) {
        return Rectangle{{r % 7, std::min(width, r % 7 + 20)}, {r % 5, height - r % 3}};
    };
    auto all = images<Rgba8>(Scene::surfaces, shuffled(0));
    for (int r = 0; r < ranks(); ++r)
        for (int i = 0; i < width * height; ++i) {
            const auto [x, y] = bounds_of(r);
            const bool inside = i % width >= x.begin && i % width < x.end && i / width >= y.begin &&
                                i / width < y.end;
            if (!inside)
                all[static_cast<std::size_t>(r)][static_cast<std::size_t>(i)] = {};
        }
    const auto own = test::image<Rgba8>(Scene::surfaces, rank(), ranks(), width, height, far);
    compositor.submit(std::span<const Rgba8>(own), bounds_of(rank()));
    EXPECT_LE(error_of<Rgba8>(compositor, compositor.finish(), all), 0.6);
}

TEST_P(Algorithms, PicturesInFlightAreIndependent) {
    auto chosen = options<Rgba8>();
    chosen.frames = 3;
    Compositor compositor(MPI_COMM_WORLD, chosen);
    std::vector<std::vector<Rgba8>> own;
    constexpr std::array scenes{Scene::surfaces, Scene::discs, Scene::veils, Scene::corner};
    for (const auto scene : scenes)
        own.push_back(test::image<Rgba8>(scene, rank(), ranks(), width, height, far));

    constexpr std::size_t pictures = 9;
    for (std::size_t k = 0; k < pictures + 2; ++k) {
        if (k >= 2) { // two are in flight; submit a third before the first is finished
            const auto of = k - 2;
            const auto order = shuffled(static_cast<unsigned>(of / 4));
            if (k < pictures) {
                compositor.set_order(shuffled(static_cast<unsigned>(k / 4)));
                compositor.submit(std::span<const Rgba8>(own[k % 4]));
            }
            const auto all = images<Rgba8>(scenes[of % 4], order);
            EXPECT_LE(error_of<Rgba8>(compositor, compositor.finish(), all), 0.6) << of;
        } else {
            compositor.set_order(shuffled(static_cast<unsigned>(k / 4)));
            compositor.submit(std::span<const Rgba8>(own[k % 4]));
        }
    }
    EXPECT_EQ(compositor.in_flight(), 0);
}

TEST_P(Algorithms, TheCanvasIsCompositedWithinItsBounds) {
    Compositor compositor(MPI_COMM_WORLD, options<Rgba8>());
    auto all = images<Rgba8>(Scene::surfaces, shuffled(3));
    compositor.set_order(shuffled(3));
    const auto own = images<Rgba8>(Scene::surfaces, std::array{rank()}).front();
    for (int picture = 0; picture < 4; ++picture) {
        std::ranges::copy(own, compositor.canvas_of<Rgba8>().begin());
        const bool part = picture % 2 == 1; // odd pictures: a part of the columns, or of the rows
        const Rectangle bounds = picture == 1 ? Rectangle{{3, width - 5}, {0, height}}
                                              : Rectangle{{0, width}, {2, height - 4}};
        compositor.submit_canvas(part ? std::optional(bounds) : std::nullopt);
        const auto result = compositor.finish();
        auto expected = all;
        for (auto& image : expected)
            for (int i = 0; part && i < width * height; ++i)
                if (i % width < bounds.x.begin || i % width >= bounds.x.end ||
                    i / width < bounds.y.begin || i / width >= bounds.y.end)
                    image[static_cast<std::size_t>(i)] = {};
        EXPECT_LE(error_of<Rgba8>(compositor, result, expected), 0.6) << picture;
    }
}

TEST_P(Algorithms, MoreRanksThanPixelsGiveTheSamePicture) {
    auto chosen = options<Rgba8>();
    chosen.width = 3;
    chosen.height = 2;
    for (const bool gather : {true, false}) {
        chosen.gather = gather;
        Compositor compositor(MPI_COMM_WORLD, chosen);
        const std::vector<Rgba8> own(6, Rgba8{0, 0, 0, 255});
        compositor.submit(std::span<const Rgba8>(own));
        const auto result = compositor.finish();
        int covered = result.region.size();
        MPI_Allreduce(MPI_IN_PLACE, &covered, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        EXPECT_EQ(covered, 6);
        for (const auto& pixel : result.as<Rgba8>())
            EXPECT_EQ(pixel, (Rgba8{0, 0, 0, 255}));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Table, Algorithms,
    testing::Values("sequential", "direct_send", "parallel_pipeline", "binary_tree", "binary_swap",
                    "radix_k(3)", "radix_k(8)", "multi_step(4, binary_swap, binary_tree)",
                    "multi_step(3, radix_k(2), direct_send)",
                    "multi_step(5, parallel_pipeline, parallel_pipeline)",
                    "multi_step(2, sequential, multi_step(3, direct_send, sequential))",
                    "hybrid(radix_k(8))", "hybrid(binary_tree) on nodes of 3",
                    "hybrid(direct_send) on nodes of 1", "auto on nodes of 2"),
    [](const auto& parameter) { return test::test_name(parameter.param); });

} // namespace
} // namespace uzushio::compositing
