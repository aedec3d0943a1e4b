// Blending, run-length encoding and interlacing on one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "compositing/compositor.hpp"
#include "compositing/layer_merger.hpp"
#include "support/compositing_scenes.hpp"

namespace uzushio::compositing {
namespace {

using test::Scene;

TEST(Over, RoundsEveryPairOfBytesToTheNearest) {
    // All opacities in front, all values behind.
    std::vector<Rgba8> front, back;
    for (int a = 0; a < 256; ++a)
        for (int v = 0; v < 256; ++v) {
            front.push_back({0, 0, 0, static_cast<std::uint8_t>(a)});
            const auto value = static_cast<std::uint8_t>(v);
            back.push_back({value, value, value, value});
        }
    std::vector<Rgba8> out(front.size());
    over(front, back, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double exact = back[i].r * (255 - front[i].a) / 255.0;
        ASSERT_LE(std::abs(out[i].r - exact), 0.5) << int{front[i].a} << " over " << int{back[i].r};
        ASSERT_EQ(out[i].r, out[i].b);
        ASSERT_LE(std::abs(out[i].a - (exact + front[i].a)), 0.5);
    }
}

TEST(Over, SumsAbove255AreClamped) {
    const std::vector<Rgba8> front(40, {200, 255, 3, 0}), back(40, {100, 255, 4, 255});
    std::vector<Rgba8> out(40);
    over(front, back, out);
    for (const auto& pixel : out)
        EXPECT_EQ(pixel, (Rgba8{255, 255, 7, 255}));
}

TEST(Over, LeavesASingleLayerUnchangedInEitherWidth) {
    std::vector<std::uint32_t> pixels;
    for (std::uint32_t i = 0; i < 5000; ++i)
        pixels.push_back(i * 2654435761U);
    std::vector<std::uint64_t> wide(pixels.size());
    std::vector<std::uint32_t> back(pixels.size());
    const auto& kernel = blend_kernels(ImageFormat::rgba8);
    const LayerPixels narrow{reinterpret_cast<const std::byte*>(pixels.data()),
                             ChannelWidth::narrow};
    kernel.blend({&narrow, 1}, pixels.size(), reinterpret_cast<std::byte*>(wide.data()),
                 ChannelWidth::wide, 0);
    const LayerPixels widened{reinterpret_cast<const std::byte*>(wide.data()), ChannelWidth::wide};
    kernel.blend({&widened, 1}, pixels.size(), reinterpret_cast<std::byte*>(back.data()),
                 ChannelWidth::narrow, 0);
    EXPECT_EQ(back, pixels);
}

TEST(Over, ManyLayersAreRoundedOnce) {
    constexpr int width = 37, height = 29, layers = 64;
    std::vector<std::vector<Rgba8>> images;
    for (int i = 0; i < layers; ++i)
        images.push_back(test::image<Rgba8>(Scene::veils, i, layers, width, height, 0));
    std::vector<LayerPixels> sources;
    for (const auto& image : images)
        sources.push_back({reinterpret_cast<const std::byte*>(image.data()), ChannelWidth::narrow});
    std::vector<Rgba8> out(images[0].size());
    blend_kernels(ImageFormat::rgba8)
        .blend(sources, out.size(), reinterpret_cast<std::byte*>(out.data()), ChannelWidth::narrow,
               0);
    EXPECT_LE(test::error<Rgba8>(out, images, 0, 0), 0.501);
}

TEST(Nearest, NaNAndDepthsBehindTheBackgroundAreNeverTaken) {
    const float nan = std::nanf("");
    const std::vector<Rgba8Depth> front{{{1, 0, 0, 1}, nan}, {{2, 0, 0, 2}, 9}, {{3, 0, 0, 3}, 7}};
    const std::vector<Rgba8Depth> back{{{4, 0, 0, 4}, 3}, {{5, 0, 0, 5}, nan}, {{6, 0, 0, 6}, 8}};
    const std::vector<LayerPixels> sources{
        {reinterpret_cast<const std::byte*>(front.data()), ChannelWidth::narrow},
        {reinterpret_cast<const std::byte*>(back.data()), ChannelWidth::narrow}};
    std::vector<Rgba8Depth> out(3);
    blend_kernels(ImageFormat::rgba8_depth)
        .blend(sources, 3, reinterpret_cast<std::byte*>(out.data()), ChannelWidth::narrow, 8);
    EXPECT_EQ(out[0], (Rgba8Depth{{4, 0, 0, 4}, 3}));
    EXPECT_EQ(out[1], (Rgba8Depth{{}, 8})); // 9 is behind the background
    EXPECT_EQ(out[2], (Rgba8Depth{{3, 0, 0, 3}, 7}));
}

TEST(Interlacing, VisitsEveryPixelOnceAndSpreadsEveryPart) {
    for (const int pixels : {1, 15, 16, 17, 1000, 4096}) {
        const PixelInterlacing order(pixels, 16);
        std::set<int> seen;
        for (int p = 0; p < pixels; ++p)
            seen.insert(order.index(p));
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(pixels));
        EXPECT_EQ(*seen.rbegin(), pixels - 1);
    }
    // Any eighth of the order has between one and three of its blocks in each sixteenth of an
    // image.
    const PixelInterlacing order(16 * 256, 16);
    for (int part = 0; part < 8; ++part) {
        std::vector<int> hits(16);
        for (int block = 32 * part; block < 32 * (part + 1); ++block)
            ++hits[static_cast<std::size_t>(order.index(16 * block) / 256)];
        EXPECT_GE(*std::ranges::min_element(hits), 1);
        EXPECT_LE(*std::ranges::max_element(hits), 3);
    }
}

class Encoding : public testing::TestWithParam<Scene> {
  protected:
    static constexpr int width = 83, height = 61;
};

TEST_P(Encoding, KeepsEveryPixelAndIsNeverLongerThanThePixels) {
    for (const int block : {0, 64})
        for (const Range interval : {Range{0, width * height}, Range{777, 4000}, Range{5, 9}}) {
            const ImageShape shape{width, height, ImageFormat::rgba8, 0,
                                   PixelInterlacing(width * height, block)};
            const auto image = test::image<Rgba8>(GetParam(), 2, 6, width, height, 0);
            const ImageView picture{reinterpret_cast<const std::byte*>(image.data()),
                                    ChannelWidth::narrow, shape.whole()};
            RunList runs(interval.size());
            find_active_runs(shape, picture, interval, runs);
            const Fragment part{interval, Fragment::Storage::in_place, ChannelWidth::narrow,
                                picture.pixels, runs.get()};

            const auto whole = static_cast<std::size_t>(interval.size()) * sizeof(Rgba8);
            std::vector<std::byte> message(whole);
            FragmentEncoder encoder(interval.size());
            encoder.start(shape, interval.size(), ChannelWidth::narrow, message.data());
            MessageSink into(encoder);
            LayerMerger merger(1);
            std::vector<LayerCursor> cursors{LayerCursor(shape, {&part, 1})};
            merger.run(shape, cursors, interval, into, ChannelWidth::narrow);
            const auto bytes = encoder.finish();
            EXPECT_LE(bytes, whole);
            if (GetParam() == Scene::discs && interval.size() > 100) {
                EXPECT_LT(bytes, whole / 2); // a disc covers an eighth of the image
            }

            const auto read = decode_fragment(shape, interval, message.data(), bytes);
            std::vector<Rgba8> back(image.size(), Rgba8{9, 9, 9, 9});
            MemorySink out(shape, reinterpret_cast<std::byte*>(back.data()));
            cursors.assign(1, LayerCursor(shape, {&read, 1}));
            merger.run(shape, cursors, interval, out, ChannelWidth::narrow);
            for (int p = interval.begin; p < interval.end; ++p) {
                const auto i = static_cast<std::size_t>(shape.interlacing.index(p));
                ASSERT_EQ(back[i], image[i]) << p;
            }
        }
}

INSTANTIATE_TEST_SUITE_P(Scenes, Encoding,
                         testing::Values(Scene::veils, Scene::surfaces, Scene::discs, Scene::corner,
                                         Scene::empty),
                         [](const auto& parameter) { return test::name(parameter.param); });

TEST(Encoding, ADamagedMessageIsAnError) {
    const ImageShape shape{8, 8, ImageFormat::rgba8, 0, {}};
    std::vector<std::byte> message(256);
    for (const std::size_t bytes : {0, 1, 8, 9, 17, 100, 255}) {
        std::fill(message.begin(), message.end(), std::byte{0x5a});
        EXPECT_THROW((void)decode_fragment(shape, {0, 64}, message.data(), bytes),
                     std::runtime_error);
    }
}

TEST(AlgorithmSpecs, AreParsedAsTheyAreWritten) {
    for (const auto* text : {"binary_swap", "radix_k(4)", "hybrid(radix_k(8))", "auto",
                             "multi_step(64, binary_swap, binary_tree)",
                             "multi_step(8, multi_step(4, direct_send, sequential), radix_k(2))"})
        EXPECT_EQ(to_string(parse_algorithm(text)), text);
    EXPECT_EQ(to_string(parse_algorithm("radix_k")), "radix_k(8)");
    EXPECT_EQ(to_string(parse_algorithm(" multi_step ( 16 ) ")),
              "multi_step(16, binary_swap, binary_tree)");
    for (const auto* text : {"", "binary", "radix_k(", "radix_k()", "radix_k(1)", "radix_k(4) x",
                             "radix_k(99999999999)", "binary_swap(2)", "multi_step(4, binary_swap)",
                             "multi_step(4, auto, binary_tree)", "hybrid(hybrid(radix_k))"})
        EXPECT_THROW((void)parse_algorithm(text), std::invalid_argument) << text;
}

} // namespace
} // namespace uzushio::compositing
