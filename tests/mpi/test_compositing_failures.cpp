// Errors between ranks: one message on all ranks, no unlimited wait.
// ranks: 1 3
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "compositing/compositor.hpp"
#include "support/compositing_setup.hpp"

namespace uzushio::compositing {
namespace {

using test::rank;
using test::ranks;

constexpr int width = 40, height = 30;
constexpr double limit = 0.5; // seconds

CompositorOptions small(const std::string& algorithm) {
    auto options = test::options_of(algorithm, width, height);
    options.limit = limit;
    return options;
}

/// Return the message of the error that a call throws.
template <class Error> std::string message_of(const std::function<void()>& call) {
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

using Change = void (*)(CompositorOptions&);
struct Difference {
    const char* name;
    Change change;
};

TEST(DifferentOptions, AreAnErrorOnAllRanksThatNamesTheOption) {
    if (ranks() == 1)
        GTEST_SKIP() << "one rank has one set of options";
    const std::array<Difference, 8> differences{
        {{"width", [](CompositorOptions& o) { o.width = 41; }},
         {"height", [](CompositorOptions& o) { o.height = 7; }},
         {"format", [](CompositorOptions& o) { o.format = ImageFormat::rgba_float; }},
         {"algorithm", [](CompositorOptions& o) { o.algorithm = "radix_k(4)"; }},
         {"root", [](CompositorOptions& o) { o.root = 1; }},
         {"interlace", [](CompositorOptions& o) { o.interlace = 8; }},
         {"frames", [](CompositorOptions& o) { o.frames = 5; }},
         {"far", [](CompositorOptions& o) { o.far = 3; }}}};
    for (const auto& [name, change] : differences)
        for (const int other : {0, ranks() - 1}) {
            auto options = small("radix_k(8)");
            if (rank() == other)
                change(options);
            const auto text =
                message_of<std::invalid_argument>([&] { Compositor(MPI_COMM_WORLD, options); });
            const auto sentence = std::string("'").append(name) + "' is not the same on all ranks";
            EXPECT_TRUE(holds(text, sentence)) << text;
            const auto both = "rank " + std::to_string(other == 0 ? 1 : other) + " and rank 0";
            EXPECT_TRUE(holds(text, both)) << text;
        }
}

TEST(AnInvalidOptionOnOneRank, IsTheSameErrorOnAllRanks) {
    auto options = small("binary_swap");
    if (rank() == ranks() - 1)
        options.fan_in = 1;
    const auto text =
        message_of<std::invalid_argument>([&] { Compositor(MPI_COMM_WORLD, options); });
    EXPECT_TRUE(holds(text, "'fan_in', the number of messages gathered at a time, is at least 2"))
        << text;
    EXPECT_EQ(holds(text, "rank " + std::to_string(ranks() - 1) + ": "), ranks() > 1);
}

class AMissingCallOfOneRank : public testing::TestWithParam<const char*> {};

TEST_P(AMissingCallOfOneRank, TimesOutOnTheOthers) {
    if (ranks() == 1)
        GTEST_SKIP() << "one rank waits for no other";
    auto options = small(GetParam());
    options.frames = 1;
    Compositor compositor(MPI_COMM_WORLD, options);
    const auto own = image();
    if (rank() != 1) {
        const double start = MPI_Wtime();
        compositor.submit(std::span<const Rgba8>(own));
        const auto end = [&] {
            for (int picture = 0; picture < 3;
                 ++picture) { // a rank may finish its first pictures alone
                compositor.finish();
                compositor.submit(std::span<const Rgba8>(own));
            }
        };
        const auto text = message_of<std::runtime_error>(end);
        EXPECT_TRUE(holds(text, "timed out after 'limit' = 0.5")) << text;
        if (rank() == 0) {
            EXPECT_TRUE(holds(text, "for rank 1:")) << text;
        }
        EXPECT_LT(MPI_Wtime() - start, 20 * limit);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    compositor.abandon(); // rank 1 has not detected that the others failed
}

INSTANTIATE_TEST_SUITE_P(Algorithms, AMissingCallOfOneRank,
                         testing::Values("sequential", "hybrid(binary_swap)"),
                         [](const auto& parameter) {
                             return parameter.param[0] == 's' ? "Messages" : "SharedMemory";
                         });

TEST(AnImageOfAnotherSize, IsAnErrorAfterWhichTheRankMaySubmitAnother) {
    Compositor compositor(MPI_COMM_WORLD, small("binary_swap"));
    if (rank() == ranks() - 1) {
        const auto small_image = image(width * height - 1);
        EXPECT_TRUE(holds(message_of<std::invalid_argument>(
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
