// Compositing through the C interface.
// ranks: 1 3 9
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "compositing/compositor.hpp"
#include "support/compositing_scenes.hpp"
#include "support/compositing_sequences.hpp"
#include "support/compositing_setup.hpp"
#include "uzushio/compositing.h"

namespace uzushio::compositing {
namespace {

constexpr int width = 33, height = 21;

class CompositingInC : public testing::Test {
  protected:
    void SetUp() override {
        uz_compositor_defaults(&options_);
        options_.width = width;
        options_.height = height;
        for (int r = 0; r < ranks_; ++r)
            images_.push_back(
                test::image<Rgba8>(test::Scene::surfaces, r, ranks_, width, height, 0));
    }

    int rank_ = test::rank(), ranks_ = test::ranks();
    uz_compositor_options options_{};
    std::vector<std::vector<Rgba8>> images_;
};

TEST_F(CompositingInC, ImagesInAnyMemoryAndInTheCanvasAreCompositedAtTheRoot) {
    for (const char* algorithm : {"auto", "binary_swap", "hybrid(direct_send)"}) {
        options_.algorithm = algorithm;
        uz_compositor* compositor = nullptr;
        ASSERT_EQ(uz_compositor_create(MPI_COMM_WORLD, &options_, &compositor), UZ_OK)
            << uz_error_message();
        const auto& own = images_[static_cast<std::size_t>(rank_)];
        ASSERT_EQ(uz_compositor_submit(compositor, own.data(), nullptr), UZ_OK);
        void* canvas = nullptr;
        ASSERT_EQ(uz_compositor_canvas(compositor, &canvas), UZ_OK);
        std::memcpy(canvas, own.data(), own.size() * sizeof(Rgba8));
        ASSERT_EQ(uz_compositor_submit(compositor, nullptr, nullptr), UZ_OK);
        ASSERT_EQ(uz_compositor_progress(compositor), UZ_OK);
        for (int picture = 0; picture < 2; ++picture) {
            uz_picture result{};
            ASSERT_EQ(uz_compositor_finish(compositor, &result), UZ_OK);
            ASSERT_EQ(result.count, rank_ == 0 ? images_[0].size() : 0U);
            if (rank_ == 0) {
                const std::span pixels(static_cast<const Rgba8*>(result.pixels), result.count);
                EXPECT_LE(test::error<Rgba8>(pixels, images_, 0, 0), 0.6);
            }
        }
        ASSERT_EQ(uz_compositor_destroy(&compositor), UZ_OK);
        EXPECT_EQ(compositor, nullptr);
    }
}

TEST_F(CompositingInC, TilesStateTheIndicesOfTheirPixels) {
    options_.algorithm = "direct_send";
    options_.gather = 0;
    options_.interlace = 16;
    uz_compositor* compositor = nullptr;
    ASSERT_EQ(uz_compositor_create(MPI_COMM_WORLD, &options_, &compositor), UZ_OK);
    ASSERT_EQ(
        uz_compositor_submit(compositor, images_[static_cast<std::size_t>(rank_)].data(), nullptr),
        UZ_OK);
    uz_picture tile{};
    ASSERT_EQ(uz_compositor_finish(compositor, &tile), UZ_OK);
    const auto* const pixels = static_cast<const Rgba8*>(tile.pixels);
    for (std::size_t i = 0; i < tile.count && ranks_ > 1; ++i)
        ASSERT_LE(test::error<Rgba8>({pixels + i, 1}, images_,
                                     uz_compositor_pixel(compositor, tile.first + i), 0),
                  0.6);
    ASSERT_EQ(uz_compositor_destroy(&compositor), UZ_OK);
}

/// Composite a sequence of pictures; return the number of wrong ones at the root. Each is compared
/// just before the picture that reuses its memory is submitted.
template <class Pixel>
int wrong_pictures(MPI_Comm comm, const uz_compositor_options& options, int pictures) {
    const int rank = test::rank_of(comm), ranks = test::size_of(comm);
    int wrong = 0;
    uz_compositor* compositor = nullptr;
    EXPECT_EQ(uz_compositor_create(comm, &options, &compositor), UZ_OK);
    std::vector<uz_picture> results(static_cast<std::size_t>(options.frames));
    const auto compare = [&](int k) {
        const auto& result = results[static_cast<std::size_t>(k % options.frames)];
        EXPECT_EQ(result.count, rank == options.root ? std::size_t{width * height} : 0U);
        const auto row = test::row_of<Pixel>(k, test::order_of(k, ranks), width, options.far_depth);
        const std::span pixels(static_cast<const Pixel*>(result.pixels), result.count);
        bool right = true;
        for (std::size_t i = 0; i < pixels.size(); ++i)
            right = right && pixels[i] == row[i % width];
        wrong += right ? 0 : 1;
    };
    for (int k = 0; k < pictures; ++k) {
        if (k >= options.frames)
            compare(k - options.frames);
        const auto order = test::order_of(k, ranks);
        EXPECT_EQ(uz_compositor_set_order(compositor, order.data(), static_cast<int>(order.size())),
                  UZ_OK);
        void* canvas = nullptr;
        EXPECT_EQ(uz_compositor_canvas(compositor, &canvas), UZ_OK);
        test::draw(std::span(static_cast<Pixel*>(canvas), std::size_t{width * height}), width, k,
                   rank, options.far_depth);
        EXPECT_EQ(uz_compositor_submit(compositor, nullptr, nullptr), UZ_OK);
        EXPECT_EQ(uz_compositor_finish(compositor,
                                       &results[static_cast<std::size_t>(k % options.frames)]),
                  UZ_OK)
            << uz_error_message();
    }
    for (int k = pictures - options.frames; k < pictures; ++k)
        compare(k);
    EXPECT_EQ(uz_compositor_destroy(&compositor), UZ_OK);
    return wrong;
}

TEST_F(CompositingInC, ConsecutivePicturesAreRightInChangingOrders) {
    for (const int cut : test::JobHalves::cuts()) {
        const test::JobHalves half(cut);
        const int ranks = test::size_of(half.comm());
        for (const char* algorithm : {"auto", "binary_swap", "direct_send", "hybrid(binary_tree)"})
            for (const int root : {0, ranks - 1}) {
                const auto where = std::string(algorithm) + ", " + std::to_string(ranks) + " ranks";
                options_.algorithm = algorithm;
                options_.root = root;
                options_.frames = 1 + root % 3;
                options_.format = UZ_RGBA8;
                EXPECT_EQ(wrong_pictures<Rgba8>(half.comm(), options_, 100), 0) << where;
                options_.format = UZ_RGBA_FLOAT;
                EXPECT_EQ(wrong_pictures<RgbaFloat>(half.comm(), options_, 100), 0) << where;
                options_.format = UZ_RGBA8_DEPTH;
                EXPECT_EQ(wrong_pictures<Rgba8Depth>(half.comm(), options_, 100), 0) << where;
            }
    }
}

TEST_F(CompositingInC, DifferentOrdersAreAnErrorOnAllRanks) {
    if (ranks_ == 1)
        GTEST_SKIP() << "one rank has one order";
    for (const char* algorithm : {"auto", "binary_swap", "sequential"}) {
        options_.algorithm = algorithm;
        uz_compositor* compositor = nullptr;
        ASSERT_EQ(uz_compositor_create(MPI_COMM_WORLD, &options_, &compositor), UZ_OK);
        const int order[] = {0, 1, 2};
        ASSERT_EQ(uz_compositor_set_order(compositor, order, rank_ == 1 ? 2 : 3), UZ_OK);
        uz_status status = UZ_OK;
        for (int k = 0; k < 50 && status == UZ_OK; ++k) {
            uz_picture picture{};
            status = uz_compositor_submit(compositor,
                                          images_[static_cast<std::size_t>(rank_)].data(), nullptr);
            if (status == UZ_OK)
                status = uz_compositor_finish(compositor, &picture);
        }
        if (status == UZ_OK) // it may be found only when all ranks finish
            status = uz_compositor_destroy(&compositor);
        EXPECT_EQ(status, UZ_ERROR_ARGUMENT) << algorithm;
        EXPECT_NE(std::string(uz_error_message()).find("are not the same on all ranks"),
                  std::string::npos)
            << uz_error_message();
        EXPECT_EQ(uz_compositor_destroy(&compositor), UZ_OK);
        EXPECT_EQ(compositor, nullptr);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

TEST_F(CompositingInC, ErrorsAreStatusesWithAMessage) {
    const auto expect_error = [](uz_status status, const char* text) {
        EXPECT_EQ(status, UZ_ERROR_ARGUMENT);
        EXPECT_NE(std::string(uz_error_message()).find(text), std::string::npos)
            << uz_error_message();
    };
    uz_compositor* compositor = nullptr;
    expect_error(uz_compositor_create(MPI_COMM_WORLD, nullptr, &compositor),
                 "'options' is a null pointer");
    options_.format = 9;
    expect_error(uz_compositor_create(MPI_COMM_WORLD, &options_, &compositor), "UZ_RGBA8_DEPTH");
    options_.format = UZ_RGBA8;
    options_.algorithm = "tree";
    expect_error(uz_compositor_create(MPI_COMM_WORLD, &options_, &compositor), "binary_tree");
    options_.algorithm = "binary_tree";
    options_.width = 0;
    expect_error(uz_compositor_create(MPI_COMM_WORLD, &options_, &compositor),
                 "at least one pixel");
    options_.width = width;
    EXPECT_EQ(compositor, nullptr);
    ASSERT_EQ(uz_compositor_create(MPI_COMM_WORLD, &options_, &compositor), UZ_OK);
    uz_picture picture{};
    expect_error(uz_compositor_finish(compositor, &picture), "no picture is in flight");
    expect_error(uz_compositor_finish(nullptr, &picture), "'compositor' is a null pointer");
    const int order[] = {0, 99};
    expect_error(uz_compositor_set_order(compositor, order, 2), "names rank 99");
    ASSERT_EQ(uz_compositor_destroy(&compositor), UZ_OK);
}

} // namespace
} // namespace uzushio::compositing
