// Compositing through the C interface.
// ranks: 1 3
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "compositing/compositor.hpp"
#include "support/pictures.hpp"
#include "uzushio/compositing.h"

namespace uzushio::compositing {
namespace {

constexpr int width = 33, height = 21;

class CompositingInC : public testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
        uz_compositor_defaults(&options_);
        options_.width = width;
        options_.height = height;
        for (int r = 0; r < ranks_; ++r)
            images_.push_back(
                test::image<Rgba8>(test::Scene::surfaces, r, ranks_, width, height, 0));
    }

    int rank_ = 0, ranks_ = 1;
    uz_compositor_options options_{};
    std::vector<std::vector<Rgba8>> images_;
};

TEST_F(CompositingInC, ImagesOfAnyMemoryAndOfTheCanvasBecomeAPictureAtTheRoot) {
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

TEST_F(CompositingInC, TilesSayWhichPixelsTheyHold) {
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

TEST_F(CompositingInC, MistakesAreToldInASentenceAndNothingIsThrown) {
    const auto said = [](uz_status status, const char* text) {
        EXPECT_EQ(status, UZ_ERROR_ARGUMENT);
        EXPECT_NE(std::string(uz_error_message()).find(text), std::string::npos)
            << uz_error_message();
    };
    uz_compositor* compositor = nullptr;
    said(uz_compositor_create(MPI_COMM_WORLD, nullptr, &compositor), "'options' is a null pointer");
    options_.format = 9;
    said(uz_compositor_create(MPI_COMM_WORLD, &options_, &compositor), "UZ_RGBA8_DEPTH");
    options_.format = UZ_RGBA8;
    options_.algorithm = "tree";
    said(uz_compositor_create(MPI_COMM_WORLD, &options_, &compositor), "binary_tree");
    options_.algorithm = "binary_tree";
    options_.width = 0;
    said(uz_compositor_create(MPI_COMM_WORLD, &options_, &compositor), "at least one pixel");
    options_.width = width;
    EXPECT_EQ(compositor, nullptr);
    ASSERT_EQ(uz_compositor_create(MPI_COMM_WORLD, &options_, &compositor), UZ_OK);
    uz_picture picture{};
    said(uz_compositor_finish(compositor, &picture), "no picture is under way");
    said(uz_compositor_finish(nullptr, &picture), "'compositor' is a null pointer");
    const int order[] = {0, 99};
    said(uz_compositor_set_order(compositor, order, 2), "names rank 99");
    ASSERT_EQ(uz_compositor_destroy(&compositor), UZ_OK);
}

} // namespace
} // namespace uzushio::compositing
