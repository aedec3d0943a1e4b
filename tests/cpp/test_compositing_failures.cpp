// What goes wrong between ranks is said in a sentence, on all of them, and nobody waits for ever.
// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "compositing/compositor.hpp"

namespace uzushio::compositing {
namespace {

constexpr int width = 40, height = 30;
constexpr double limit = 0.5; // seconds

int rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int ranks() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

Options small(const std::string& algorithm) {
    Options options;
    options.width = width;
    options.height = height;
    options.algorithm = algorithm;
    options.limit = limit;
    return options;
}

/// What a call says when it fails.
template <class Error> std::string said(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing";
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::vector<Rgba8> image(int pixels = width * height) {
    return {static_cast<std::size_t>(pixels), Rgba8{10, 20, 30, 40}};
}

using Change = void (*)(Options&);
struct Difference {
    const char* name;
    Change change;
};

TEST(RanksThatDiffer, InAnyOptionAreToldWhichOnAllOfThem) {
    if (ranks() == 1)
        GTEST_SKIP() << "one rank cannot differ";
    const std::array<Difference, 8> differences{
        {{"width", [](Options& o) { o.width = 41; }},
         {"height", [](Options& o) { o.height = 7; }},
         {"format", [](Options& o) { o.format = Format::rgba_float; }},
         {"algorithm", [](Options& o) { o.algorithm = "radix_k(4)"; }},
         {"root", [](Options& o) { o.root = 1; }},
         {"interlace", [](Options& o) { o.interlace = 8; }},
         {"frames", [](Options& o) { o.frames = 5; }},
         {"far", [](Options& o) { o.far = 3; }}}};
    for (const auto& [name, change] : differences)
        for (const int other : {0, ranks() - 1}) {
            auto options = small("radix_k(8)");
            if (rank() == other)
                change(options);
            const auto text =
                said<std::invalid_argument>([&] { Compositor(MPI_COMM_WORLD, options); });
            const auto sentence = std::string("'").append(name) + "' is not the same on all ranks";
            EXPECT_TRUE(holds(text, sentence)) << text;
        }
}

TEST(AMistakeOnOneRank, IsAnErrorOnAllOfThem) {
    auto options = small("binary_swap");
    if (rank() == ranks() - 1)
        options.fan_in = 1;
    const auto text = said<std::invalid_argument>([&] { Compositor(MPI_COMM_WORLD, options); });
    EXPECT_TRUE(holds(text, rank() == ranks() - 1 ? "at least two messages" : "not the same") ||
                holds(text, "another rank was given options"))
        << text;
}

class ARankThatLeavesOutACall : public testing::TestWithParam<const char*> {};

TEST_P(ARankThatLeavesOutACall, IsNotWaitedForLongerThanAllowed) {
    if (ranks() == 1)
        GTEST_SKIP() << "one rank waits for nobody";
    auto options = small(GetParam());
    options.frames = 1;
    Compositor compositor(MPI_COMM_WORLD, options);
    const auto own = image();
    if (rank() != 1) {
        const double start = MPI_Wtime();
        compositor.submit(std::span<const Rgba8>(own));
        const auto end = [&] {
            for (int picture = 0; picture < 3; ++picture) { // a rank may have its part at once
                compositor.finish();
                compositor.submit(std::span<const Rgba8>(own));
            }
        };
        const auto text = said<std::runtime_error>(end);
        EXPECT_TRUE(holds(text, "waited longer")) << text;
        if (rank() == 0) {
            EXPECT_TRUE(holds(text, "for rank 1:")) << text;
        }
        EXPECT_LT(MPI_Wtime() - start, 20 * limit);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    compositor.abandon(); // rank 1 cannot know that the others have given up
}

INSTANTIATE_TEST_SUITE_P(Algorithms, ARankThatLeavesOutACall,
                         testing::Values("sequential", "hybrid(binary_swap)"),
                         [](const auto& parameter) {
                             return parameter.param[0] == 's' ? "Messages" : "SharedMemory";
                         });

TEST(AnImageOfAnotherSize, IsRefusedAndTheRankMayGoOnWithTheRightOne) {
    Compositor compositor(MPI_COMM_WORLD, small("binary_swap"));
    if (rank() == ranks() - 1) {
        const auto small_image = image(width * height - 1);
        EXPECT_TRUE(holds(said<std::invalid_argument>(
                              [&] { compositor.submit(std::span<const Rgba8>(small_image)); }),
                          "the image has 4796 bytes, not the 4800"));
    }
    const auto own = image();
    compositor.submit(std::span<const Rgba8>(own));
    const auto result = compositor.finish();
    EXPECT_EQ(result.region.size(), rank() == 0 ? width * height : 0);
}

} // namespace
} // namespace uzushio::compositing
