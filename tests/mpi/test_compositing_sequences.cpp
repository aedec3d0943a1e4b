// Hundreds of pictures without a barrier between them, in changing visibility orders, and orders
// that differ between ranks. The job is split into halves of all sizes: nine ranks cover all
// numbers of ranks from 1 to 9.
// ranks: 9
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "compositing/compositor.hpp"
#include "support/compositing_sequences.hpp"
#include "support/compositing_setup.hpp"

namespace uzushio::compositing {
namespace {

constexpr int width = 64, height = 48; // three tiles
constexpr float far = 100;

/// Delay each rank at different times.
void delay(int k, int rank) {
    if ((7 * k + 5 * rank) % 41 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(300));
}

CompositorOptions options_of(const std::string& algorithm) {
    auto options = test::options_of(algorithm, width, height);
    options.far = far;
    options.limit = 60;
    return options;
}

/// Return the number of wrong pixels in this rank's part of picture `k`.
template <class Pixel>
int wrong(const Compositor& compositor, const CompositedPixels& result, int k, int ranks) {
    const auto row = test::row_of<Pixel>(k, test::order_of(k, ranks), width, far);
    const auto pixels = result.as<Pixel>();
    const bool whole = result.region.size() == width * height; // not interlaced
    int count = 0;
    for (int p = 0; p < result.region.size(); ++p) {
        const int index = whole ? p : compositor.interlacing().index(result.region.begin + p);
        count += pixels[static_cast<std::size_t>(p)] == row[static_cast<std::size_t>(index % width)]
                     ? 0
                     : 1;
    }
    return count;
}

class Sequences : public testing::TestWithParam<std::tuple<const char*, int>> {
  protected:
    Sequences() : half_(cut()) {}

    static const char* algorithm() { return std::get<0>(GetParam()); }
    static int cut() { return std::get<1>(GetParam()); }
    MPI_Comm comm() const { return half_.comm(); }
    int rank() const { return test::rank_of(comm()); }
    int ranks() const { return test::size_of(comm()); }

    /// Composite pictures with up to `lag` + 1 of them in flight. Compare each as late as its
    /// memory is valid: when the next picture reuses it.
    template <class Pixel> void composite(CompositorOptions options, int lag, int pictures) {
        options.format = test::format_of<Pixel>();
        Compositor compositor(comm(), options);
        std::vector<std::vector<Pixel>> images(
            static_cast<std::size_t>(options.frames),
            std::vector<Pixel>(static_cast<std::size_t>(width * height)));
        struct Kept {
            int k;
            CompositedPixels result;
        };
        std::deque<Kept> kept;
        int finished = 0, bad = 0;
        const auto compare_oldest = [&] {
            const auto& [k, result] = kept.front();
            bad += wrong<Pixel>(compositor, result, k, ranks()) == 0 ? 0 : 1;
            kept.pop_front();
        };
        for (int k = 0; k < pictures; ++k) {
            delay(k, rank());
            if (static_cast<int>(kept.size()) + compositor.in_flight() == options.frames)
                compare_oldest();
            compositor.set_order(test::order_of(k, ranks()));
            if (k % 2 == 0) {
                test::draw(compositor.canvas_of<Pixel>(), width, k, rank(), far);
                compositor.submit_canvas();
            } else {
                auto& image = images[static_cast<std::size_t>(k % options.frames)];
                test::draw(std::span<Pixel>(image), width, k, rank(), far);
                compositor.submit(std::span<const Pixel>(image));
            }
            while (compositor.in_flight() > lag) {
                kept.push_back({finished, compositor.finish()});
                ++finished;
            }
        }
        while (compositor.in_flight() > 0) {
            kept.push_back({finished, compositor.finish()});
            ++finished;
        }
        while (!kept.empty())
            compare_oldest();
        EXPECT_EQ(bad, 0) << "pictures of " << pictures << " on " << ranks() << " ranks, "
                          << options.frames << " frames, lag " << lag << ", root " << options.root
                          << (options.gather ? ", gathered" : ", tiles");
    }

  private:
    test::JobHalves half_;
};

TEST_P(Sequences, AreRightWhicheverRanksAreInTheOrder) {
    auto options = options_of(algorithm());
    composite<Rgba8>(options, 1, cut() == 0 ? 200 : 100); // 100 cover all kinds of orders
    options.frames = 1;
    options.root = ranks() - 1;
    composite<RgbaFloat>(options, 0, 100);
    options.frames = 3;
    composite<Rgba8Depth>(options, 0, 100);
    options.gather = false;
    options.interlace = 16;
    composite<Rgba8>(options, 2, 100);
}

TEST_P(Sequences, MayEndWhilePicturesAreInFlight) {
    const auto options = options_of(algorithm());
    const std::vector<Rgba8> image(static_cast<std::size_t>(width * height), {1, 2, 3, 255});
    for (int i = 0; i < 3; ++i) {
        Compositor compositor(comm(), options);
        compositor.submit(std::span<const Rgba8>(image));
        compositor.submit(std::span<const Rgba8>(image));
    }
}

/// Orders of one rank and of all others.
struct Difference {
    const char* name;
    int rank;
    std::vector<int> order, others;
};

std::vector<Difference> differences(int ranks) {
    const int last = ranks - 1;
    std::vector<int> all(static_cast<std::size_t>(ranks)), turned;
    std::iota(all.begin(), all.end(), 0);
    turned.assign(all.rbegin(), all.rend());
    auto but_last = all, but_first = all;
    but_last.pop_back();
    but_first.erase(but_first.begin());
    return {{"a rank without itself", last, but_last, all},
            {"only one rank with itself", last, all, but_last},
            {"a root without itself", 0, but_first, all},
            {"a root without another rank", 0, but_last, all},
            {"a root with another rank", 0, all, but_last},
            {"another order", last, turned, all},
            {"another order of a rank that is not in it", last, {0}, {}}};
}

TEST_P(Sequences, OfDifferentOrdersAreAnErrorOnAllRanks) {
    if (cut() % 3 != 0)
        GTEST_SKIP() << "nine, six and three ranks are enough";
    bool gather = false;
    for (const auto& [name, odd, order, others] : differences(ranks())) {
        gather = !gather;
        auto options = options_of(algorithm());
        options.gather = gather;
        Compositor compositor(comm(), options);
        const std::vector<Rgba8> image(static_cast<std::size_t>(width * height), {1, 2, 3, 255});
        std::string text = "no error";
        const double start = MPI_Wtime();
        try {
            for (int k = 0; k < 200; ++k) {
                if (k == 5)
                    compositor.set_order(rank() == odd ? order : others);
                compositor.submit(std::span<const Rgba8>(image));
                (void)compositor.finish();
            }
            (void)compositor.finish_all();
        } catch (const std::invalid_argument& error) {
            text = error.what();
        }
        EXPECT_NE(text.find("are not the same on all ranks"), std::string::npos)
            << text << ": " << name << (gather ? ", gathered" : ", tiles");
        EXPECT_LT(MPI_Wtime() - start, 10) << name;
        EXPECT_TRUE(compositor.failed());
        MPI_Barrier(comm());
    }
}

std::string name_of(const testing::TestParamInfo<std::tuple<const char*, int>>& parameter) {
    return test::test_name(std::get<0>(parameter.param)) + "CutAt" +
           std::to_string(std::get<1>(parameter.param));
}

constexpr const char* tested_algorithms[] = {"sequential",
                                             "direct_send",
                                             "parallel_pipeline",
                                             "binary_tree",
                                             "binary_swap",
                                             "radix_k(3)",
                                             "multi_step(3, binary_swap, binary_tree)",
                                             "hybrid(binary_swap)",
                                             "hybrid(direct_send) on nodes of 2",
                                             "hybrid(binary_tree) on nodes of 3",
                                             "auto",
                                             "auto on nodes of 4"};

// The cut is a parameter, not a loop: halves that fail at different positions are synchronised
// again in the next test.
INSTANTIATE_TEST_SUITE_P(Table, Sequences,
                         testing::Combine(testing::ValuesIn(tested_algorithms),
                                          testing::Range(0, 5)),
                         name_of);

} // namespace
} // namespace uzushio::compositing
